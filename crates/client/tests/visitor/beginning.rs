//! How a decision is begun (`docs/spec/visitor.md`, V7).

use std::collections::BTreeMap;
use std::path::PathBuf;

use data_encoding::BASE64URL_NOPAD;
use ostrakon_client::Millis;
use ostrakon_client::visitor::{Beginning, BeginningAction, BeginningNews, NotBegun, Refusal};
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_decide::{Chain, Content, DecisionId, Draft, Layer, SignedRecord};
use ostrakon_party::{PartyId, wire};
use ostrakon_protocol::decisions::{
    DecisionInfo, DecisionMade, DecisionStage, LayerInfo, StockLevel,
};
use serde_json::{Value, json};

use crate::beginnings::{BEGINNINGS, BeginningScript, Exchange, Played};
use crate::servers::servers_answer;
use crate::time::{InTime, START, Time};
use crate::world::{creator, deposited, draft, helper, key, operators, rng, servers};

/// How long the servers' answers take: no two come at the same moment.
const LATENCY: [Millis; 3] = [40, 47, 54];

/// A creator who only asks.
pub fn asker() -> SigningKey {
    key(60)
}

/// A draft of somebody who does not decide.
pub fn asked() -> Draft {
    Draft { creator: asker().verifying_key(), ..draft(2, 2) }
}

/// One server.
#[derive(Default)]
pub struct Operator {
    /// It answers nothing.
    pub is_away: bool,
    /// It says this to who asks for its layer.
    pub says: Option<u16>,
    /// It takes so much longer for that.
    pub slow: Millis,
    /// It gives this operator's layer, if not its own.
    pub gives: Option<u8>,
    /// It gives its layer for another draft.
    pub bends: bool,
    /// It says this to the record.
    pub refuses: Option<u16>,
    /// It takes the record all the same.
    pub announces: bool,
    /// It takes the record, and says nothing.
    pub loses: bool,
    /// It does not say whether there is a decision.
    pub is_mute: bool,
    /// It names another decision.
    pub alters: bool,
    /// It shows the decision from so long after the beginning on.
    pub shows_from: Millis,
}

/// Somebody who begins a decision.
pub struct Hall {
    pub time: Time<(u64, u16, String)>,
    pub beginning: Beginning,
    pub operators: [Operator; 3],
    pub record: Option<SignedRecord>,
    /// What is kept: nothing, or how many requests were made by then.
    pub kept: Option<usize>,
    /// Whether anything can be.
    pub is_full: bool,
    pub stock: u64,
    /// So long after the beginning the stock was done with.
    pub stocked: Option<Millis>,
    pub news: Vec<BeginningNews>,
    pub exchanges: Vec<Exchange>,
}

impl Hall {
    pub fn new(creator: SigningKey, draft: Draft) -> Self {
        let beginning = Beginning::new(operators(), creator, draft, &Secret::new([4; 32]));
        let (operators, record, kept, is_full) = Default::default();
        let (stock, stocked, news, exchanges) = Default::default();
        let time = Time::new();
        Self { time, beginning, operators, record, kept, is_full, stock, stocked, news, exchanges }
    }

    pub fn usual() -> Self {
        Self::new(asker(), asked())
    }

    fn go_on(&mut self) {
        while let Some(action) = self.beginning.next_action() {
            match action {
                BeginningAction::Ask(sending) => {
                    let (at, party) = (self.time.now - START, sending.party.0);
                    let body = sending.http.body.map(|body| body.text());
                    let path = sending.http.path;
                    let (delay, status, answer) = match self.serve(party, &path, body.as_deref()) {
                        Some((status, answer)) => {
                            let operator = usize::from(party);
                            let slow =
                                if path == "layers" { self.operators[operator].slow } else { 0 };
                            (LATENCY[operator] + slow, status, answer.to_string())
                        }
                        None => (sending.patience, 0, String::new()),
                    };
                    self.time.after(delay, (sending.id, status, answer.clone()));
                    self.exchanges.push(Exchange { at, party, path, body, delay, status, answer });
                }
                BeginningAction::Keep => {
                    assert!(self.record.is_none(), "it is kept before it exists");
                    self.kept = (!self.is_full).then_some(self.exchanges.len());
                    self.beginning.kept(self.time.now, !self.is_full);
                }
                BeginningAction::Forget => self.kept = None,
                BeginningAction::Tell(BeginningNews::Stocked) => {
                    let before = self.stocked.replace(self.time.now - START);
                    assert_eq!(before, None, "told twice");
                }
                BeginningAction::Tell(news) => self.news.push(news),
            }
        }
    }

    fn serve(&mut self, party: u8, path: &str, body: Option<&str>) -> Option<(u16, Value)> {
        let operator = &self.operators[usize::from(party)];
        let said = |status: u16| Some((status, json!({"detail": "no"})));
        let bytes = || BASE64URL_NOPAD.decode(body.unwrap().as_bytes()).unwrap();
        match path {
            _ if operator.is_away => None,
            "layers" => match operator.says {
                Some(status) => said(status),
                None => Some((200, json!(self.layer(party, wire::decode(&bytes()).unwrap())))),
            },
            "decisions" => {
                let (refuses, announces) = (operator.refuses, operator.announces);
                let (loses, alters) = (operator.loses, operator.alters);
                if let Some(status) = refuses.filter(|_| !announces) {
                    return said(status);
                }
                let record = SignedRecord::decode(&bytes()).unwrap();
                let id = if alters { DecisionId([7; 16]) } else { record.record.decision };
                self.record = Some(record);
                match refuses {
                    Some(status) => said(status),
                    None => (!loses).then(|| (201, json!(DecisionMade { id: id.to_hex() }))),
                }
            }
            "helper" => Some((200, json!(helper(party)))),
            "shares" => Some((200, json!(deposited(party, &bytes())))),
            _ if path.starts_with("accounts/") => {
                self.stock += u64::from(body.is_some());
                Some((200, json!(StockLevel { stock: self.stock, wanted: 8 })))
            }
            _ if operator.is_mute => None,
            _ => {
                let shows = self.time.now >= START + operator.shows_from;
                match &self.record {
                    Some(record) if shows => Some((200, json!(info(record)))),
                    _ => said(404),
                }
            }
        }
    }

    fn layer(&self, party: u8, mut draft: Draft) -> LayerInfo {
        let operator = &self.operators[usize::from(party)];
        if operator.bends {
            draft.question.push('?');
        }
        let of = operator.gives.unwrap_or(party);
        let drawn = (&Secret::new([of + 90; 32]), 5);
        let layer =
            Layer::of(drawn, &key(of), PartyId(of), &operators(), &draft, &mut rng()).unwrap();
        LayerInfo { party, layer: BASE64URL_NOPAD.encode(&wire::encode(&layer)) }
    }

    /// Who was asked for something.
    fn asked(&self, path: &str) -> Vec<u8> {
        let asked = self.exchanges.iter().filter(|one| one.path == path);
        asked.map(|one| one.party).collect()
    }

    /// Why it was certainly not begun.
    fn failure(&mut self, ms: Millis) -> NotBegun {
        self.advance(ms);
        let [BeginningNews::Failed(failure)] = &self.news[..] else { panic!("{:?}", self.news) };
        failure.clone()
    }

    /// Why it is not known whether it was begun.
    fn doubt(&mut self, ms: Millis) -> NotBegun {
        self.advance(ms);
        let [BeginningNews::Doubtful(doubt)] = &self.news[..] else { panic!("{:?}", self.news) };
        doubt.clone()
    }

    /// Who was asked whether there is the decision.
    fn looks(&self) -> Vec<u8> {
        let looks = self.exchanges.iter().filter(|one| one.path.starts_with("decisions/"));
        looks.map(|one| one.party).collect()
    }
}

fn info(record: &SignedRecord) -> DecisionInfo {
    let chain = Chain::begin(operators(), record).unwrap();
    DecisionInfo {
        id: chain.id().to_hex(),
        records: chain.length(),
        head: chain.head().to_hex(),
        stage: DecisionStage::of(chain.stage(), false),
        people: 2,
        answered: 0,
        verified: 0,
        deadline: chain.draft().deadline,
        openings: Vec::new(),
        refusal: None,
    }
}

impl InTime for Hall {
    type Event = (u64, u16, String);

    fn time(&mut self) -> &mut Time<Self::Event> {
        &mut self.time
    }

    fn happen(&mut self, (id, status, body): Self::Event) {
        self.beginning.replied(self.time.now, id, status, body.as_bytes());
        self.go_on();
    }

    fn wake(&mut self) {
        self.beginning.wake(self.time.now);
        self.go_on();
    }

    fn wake_at(&self) -> Millis {
        self.beginning.wake_at()
    }
}

fn refused(party: u8, status: u16) -> NotBegun {
    let refusal = Refusal { status, detail: "no".into() };
    NotBegun::Server { party: PartyId(party), refusal }
}

#[test]
fn a_decision_begins_with_the_layers_of_all_and_is_awaited_at_two_servers() {
    let mut hall = Hall::usual();
    hall.operators[1].shows_from = 3_000;
    hall.operators[2].shows_from = 9_000;
    hall.advance(2_000);
    let [BeginningNews::Begun(record)] = &hall.news[..] else { panic!("{:?}", hall.news) };
    assert_eq!(Some(&**record), hall.record.as_ref());
    let Content::Create(creation) = &record.record.content else { panic!("no beginning") };
    assert_eq!((&creation.draft, record.record.time), (&asked(), START / 1_000));
    assert_eq!((hall.asked("layers"), hall.asked("decisions")), (vec![0, 1, 2], vec![0]));
    assert_eq!(hall.kept, Some(3), "before the record leaves, and after all layers are there");
    hall.advance(2_500);
    assert_eq!(hall.news[1..], [BeginningNews::Shown]);
    let asked = hall.exchanges.len();
    hall.advance(60_000);
    assert_eq!((hall.exchanges.len(), hall.news.len()), (asked, 2), "it is over");
}

#[test]
fn a_decision_that_no_second_server_shows_is_told_and_stays_begun() {
    let mut hall = Hall::usual();
    (hall.operators[1].shows_from, hall.operators[2].shows_from) = (90_000, 90_000);
    hall.advance(19_000);
    assert!(matches!(hall.news[..], [BeginningNews::Begun(_)]));
    hall.advance(2_000);
    assert_eq!((&hall.news[1..], hall.kept), (&[BeginningNews::Late][..], Some(3)));
}

#[test]
fn who_creates_and_decides_has_a_key_in_stock_before() {
    let mut hall = Hall::new(creator(), draft(2, 2));
    hall.advance(3_000);
    assert_eq!(hall.stock, 1);
    assert!(matches!(hall.news[..], [BeginningNews::Begun(_), BeginningNews::Shown]));
    assert!(hall.stocked.is_some_and(|stocked| stocked < 1_000));
    let place = |path: &str| hall.exchanges.iter().position(|one| one.path.ends_with(path));
    assert!(place("/keys").unwrap() < place("layers").unwrap());

    let mut other = Hall::usual();
    other.advance(3_000);
    assert_eq!((other.stock, other.asked("helper"), other.stocked), (0, vec![], None));
}

#[test]
fn a_stock_that_cannot_be_filled_keeps_nobody_from_it() {
    let mut hall = Hall::new(creator(), draft(2, 2));
    hall.operators[2].is_away = true;
    hall.advance(14_900);
    assert_eq!((hall.stock, hall.stocked), (0, None), "a key needs all servers");
    hall.operators[2].is_away = false;
    hall.advance(3_000);
    assert_eq!((hall.stock, hall.stocked), (0, Some(15_000)));
    assert!(matches!(hall.news[..], [BeginningNews::Begun(_), BeginningNews::Shown]));
}

#[test]
fn an_operator_that_is_silent_is_told_once_the_time_for_all_layers_is_over() {
    for (creator, draft, filled) in [(asker(), asked(), 0), (creator(), draft(2, 2), 15_000)] {
        let mut hall = Hall::new(creator, draft);
        hall.operators[2].is_away = true;
        hall.advance(filled + 59_900);
        assert_eq!(hall.news, []);
        assert_eq!(hall.failure(200), NotBegun::Away(PartyId(2)));
        assert_eq!(hall.asked("layers"), [0, 1, 2]);
    }
    let mut hall = Hall::usual();
    (hall.operators[1].says, hall.operators[1].slow) = (Some(503), 20_000);
    hall.operators[2].is_away = true;
    hall.advance(59_900);
    assert_eq!(hall.news, []);
    assert_eq!(hall.failure(200), refused(1, 503));
    assert_eq!(hall.asked("layers"), [0, 1, 2, 1, 1]);
}

#[test]
fn a_layer_that_is_not_the_operators_own_for_this_draft_is_refused() {
    for (gives, bends) in [(Some(0), false), (None, true)] {
        let mut hall = Hall::usual();
        (hall.operators[1].gives, hall.operators[1].bends) = (gives, bends);
        assert_eq!(hall.failure(60_000), NotBegun::Layer(PartyId(1)));
        assert_eq!((hall.asked("decisions"), hall.kept), (vec![], None));
    }
}

#[test]
fn what_breaks_a_rule_is_refused_before_it_leaves() {
    let mut hall = Hall::new(asker(), Draft { quorum: 1, ..asked() });
    assert!(matches!(hall.failure(1_000), NotBegun::Refused(_)));
    assert_eq!(hall.exchanges, []);
    let mut stranger = Hall::new(key(61), asked());
    assert!(matches!(stranger.failure(1_000), NotBegun::Refused(_)), "not the creator");
    assert_eq!(stranger.asked("decisions"), [0; 0]);
    let mut late = Hall::usual();
    late.time.now += 13 * 3_600_000;
    assert!(matches!(late.failure(1_000), NotBegun::Refused(_)), "the layers are too old");
    assert_eq!((late.asked("decisions"), late.kept), (vec![], None));
}

#[test]
fn an_operator_that_is_away_is_asked_again_and_one_that_says_no_is_told() {
    for status in [503, 0] {
        let mut hall = Hall::usual();
        hall.operators[2].says = Some(status);
        hall.advance(1_000);
        hall.operators[2].says = None;
        hall.advance(2_000);
        assert!(matches!(hall.news[..], [BeginningNews::Begun(_), BeginningNews::Shown]));

        let mut hall = Hall::usual();
        hall.operators[2].says = Some(status);
        let expected = if status == 0 { NotBegun::Away(PartyId(2)) } else { refused(2, status) };
        assert_eq!(hall.failure(10_000), expected);
        assert_eq!(hall.asked("layers").len(), 9);
    }
    for status in [403, 422, 429] {
        let mut hall = Hall::usual();
        hall.operators[2].says = Some(status);
        assert_eq!(hall.failure(100), refused(2, status));
        assert_eq!((hall.asked("layers").len(), hall.kept), (3, None));
    }
}

#[test]
fn what_the_first_server_refuses_is_forgotten_once_the_others_do_not_know_it_either() {
    for status in [403, 422, 429] {
        let mut hall = Hall::usual();
        hall.operators[0].refuses = Some(status);
        assert_eq!(hall.failure(200), refused(0, status));
        assert_eq!((hall.kept, hall.asked("decisions"), hall.looks()), (None, vec![0], vec![1, 2]));
    }
    let mut mute = Hall::usual();
    (mute.operators[0].refuses, mute.operators[2].is_mute) = (Some(403), true);
    assert_eq!(mute.doubt(16_000), refused(0, 403));
    assert_eq!(mute.kept, Some(3), "who does not answer may have it");
}

#[test]
fn what_the_first_server_may_have_passed_on_is_looked_for_and_kept() {
    for status in [408, 500, 503] {
        let mut hall = Hall::usual();
        hall.operators[0].refuses = Some(status);
        hall.advance(20_000);
        assert_eq!(hall.news, []);
        assert_eq!(hall.doubt(1_000), refused(0, status));
        assert_eq!((hall.kept, hall.asked("decisions")), (Some(3), vec![0]));
    }
}

#[test]
fn a_decision_that_the_first_server_refuses_and_announces_has_begun() {
    for status in [403, 429, 503] {
        let announced = || {
            let mut hall = Hall::usual();
            (hall.operators[0].refuses, hall.operators[0].announces) = (Some(status), true);
            hall.operators[0].shows_from = Millis::MAX - START;
            hall
        };
        let mut hall = announced();
        hall.advance(500);
        assert!(matches!(hall.news[..], [BeginningNews::Begun(_), BeginningNews::Shown]));
        assert_eq!((hall.kept, hall.asked("decisions")), (Some(3), vec![0]));

        let mut alone = announced();
        alone.operators[2].shows_from = 90_000;
        assert_eq!(alone.doubt(21_000), refused(0, status));
        assert_eq!(alone.kept, Some(3), "one shows it");
    }
}

#[test]
fn what_has_no_answer_is_looked_for_and_not_handed_in_again() {
    let mut hall = Hall::usual();
    hall.operators[0].loses = true;
    hall.advance(70_000);
    assert!(matches!(hall.news[..], [BeginningNews::Begun(_), BeginningNews::Shown]));
    assert_eq!(hall.asked("decisions"), [0]);

    let mut gone = Hall::usual();
    gone.operators[0].refuses = Some(302);
    assert_eq!(gone.doubt(30_000), NotBegun::Away(PartyId(0)));
    assert_eq!((gone.asked("decisions"), gone.kept), (vec![0], Some(3)));
}

#[test]
fn another_decision_than_was_asked_for_is_told() {
    let mut hall = Hall::usual();
    hall.operators[0].alters = true;
    assert_eq!(hall.doubt(30_000), NotBegun::Altered);
    assert_eq!(hall.kept, Some(3), "it may be there as well");
}

#[test]
fn what_cannot_be_written_down_does_not_begin() {
    let mut hall = Hall::usual();
    hall.is_full = true;
    assert_eq!(hall.failure(30_000), NotBegun::NotKept);
    assert_eq!(hall.asked("decisions"), [0; 0]);
}

/// Plays it to a machine: what that asks.
fn play(script: &BeginningScript) -> Vec<Exchange> {
    let (creator, seed) = (SigningKey::from_seed(&script.key), Secret::new(script.seed));
    let mut beginning = Beginning::new(operators(), creator, script.draft.clone(), &seed);
    let mut played = Played::new(&script.exchanges);
    let mut answers: BTreeMap<(Millis, u64), Exchange> = BTreeMap::new();
    let (mut now, end) = (script.start, script.start + script.lasts);
    while now < end {
        match answers.first_entry().filter(|next| next.key().0 <= now) {
            Some(next) => {
                let ((_, id), Exchange { status, answer, .. }) = next.remove_entry();
                beginning.replied(now, id, status, answer.as_bytes());
            }
            None => beginning.wake(now),
        }
        while let Some(action) = beginning.next_action() {
            match action {
                BeginningAction::Ask(sending) => {
                    let (at, party) = (now - script.start, sending.party.0);
                    let answer = played.answer(at, party, &sending.http, sending.patience);
                    answers.insert((now + answer.delay, sending.id), answer);
                }
                BeginningAction::Keep => beginning.kept(now, true),
                BeginningAction::Forget | BeginningAction::Tell(_) => {}
            }
        }
        let answer = answers.keys().next().map_or(end, |(at, _)| *at);
        now = beginning.wake_at().min(answer).max(now);
    }
    played.asked
}

/// Somebody begins a decision and decides, too. With troubles it is somebody else, an operator is
/// busy at first, the first server's answer is lost, and the others hear of it late.
fn write(troubles: bool) -> BeginningScript {
    let (key, draft) = if troubles { ([60; 32], asked()) } else { ([20; 32], draft(2, 2)) };
    let mut hall = Hall::new(SigningKey::from_seed(&key), draft.clone());
    if troubles {
        hall.operators[2].says = Some(503);
        hall.advance(300);
        hall.operators[2].says = None;
        hall.operators[0].loses = true;
        (hall.operators[1].shows_from, hall.operators[2].shows_from) = (61_000, 63_000);
    }
    hall.advance(65_000);
    let ends = [BeginningNews::Begun(Box::new(hall.record.unwrap())), BeginningNews::Shown];
    assert_eq!(hall.news, ends);
    let (servers, seed, start) = (servers_answer(&servers()), [4; 32], START);
    let lasts = hall.time.now - START;
    BeginningScript { servers, draft, key, seed, start, lasts, exchanges: hall.exchanges }
}

#[test]
fn who_begins_a_decision_sends_what_is_written_in_the_scripts() {
    for (name, troubles) in BEGINNINGS.into_iter().zip([false, true]) {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/traces");
        let path = folder.join(format!("{name}.json"));
        if std::env::var("OSTRAKON_TRACES").is_ok_and(|value| value == "write") {
            let text = serde_json::to_string_pretty(&write(troubles)).unwrap();
            std::fs::write(&path, text + "\n").unwrap();
        }
        let script: BeginningScript =
            serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert!(script.exchanges.len() > 6);
        assert_eq!(play(&script), script.exchanges, "{name}");
    }
}
