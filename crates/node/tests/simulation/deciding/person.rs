//! Somebody who is asked: a device with what is on its disk, which visits the decision by the code
//! that real devices run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use data_encoding::BASE64URL_NOPAD;
use futures::FutureExt;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use ostrakon_client::visitor::{Action, Answer, Call, Deed, Failure, News, Refusal, Visitor};
use ostrakon_crypto::{Digest, Secret, SigningKey, VerifyingKey};
use ostrakon_decide::{Content, DecisionId, Invitation, Memory, Operators, SignedRecord, Stage};
use ostrakon_decisions::DecisionServer;
use ostrakon_party::PartyId;
use ostrakon_protocol::ServiceError;
use ostrakon_protocol::decisions::Acknowledged;

use crate::line::Line;

/// Of a hundred answers so many are lost on their way.
const LOST: u64 = 8;
/// How often it is looked whether the device was closed or opened.
const BEAT: Duration = Duration::from_millis(300);

/// What the device keeps, and what its user does.
pub struct Device {
    seed: [u8; 32],
    invitation: Option<Invitation>,
    /// What is on its disk.
    memory: String,
    /// The disk takes nothing.
    pub full: bool,
    /// Whether it is open.
    pub open: bool,
    /// Grows when it is started again, which forgets all that is not on its disk.
    pub loads: u64,
    /// What its user answers at first; nothing of who only accepts.
    pub answer: Option<u8>,
    /// What its user was told.
    pub accepted: bool,
    pub answers_are_taken: bool,
    pub answered: bool,
    /// The start at which its user tried to answer otherwise than before.
    contradicts: Option<u64>,
    /// What it was told last.
    last: Option<News>,
}

impl Device {
    pub fn new(seed: [u8; 32], invitation: Option<Invitation>) -> Self {
        let memory = serde_json::to_string(&Memory::default()).unwrap();
        let (full, open, loads, answer) = (false, true, 0, None);
        let (accepted, answers_are_taken, answered, contradicts, last) = Default::default();
        Self {
            seed,
            invitation,
            memory,
            full,
            open,
            loads,
            answer,
            accepted,
            answers_are_taken,
            answered,
            contradicts,
            last,
        }
    }

    /// What its user was told, for whoever reads why a run failed.
    pub fn shown(&self) -> String {
        let told = (self.accepted, self.answers_are_taken, self.answered);
        format!("{:?}: {told:?}, {:?}", self.answer, self.last)
    }

    fn memory(&self) -> Memory {
        serde_json::from_str(&self.memory).unwrap()
    }
}

/// By author and place, the answers that somebody has signed.
pub type Signed = BTreeMap<(VerifyingKey, Digest), Vec<u8>>;

/// Somebody's visits.
#[derive(Clone)]
pub struct Visiting {
    pub line: Line,
    pub device: Arc<Mutex<Device>>,
    pub operators: Operators,
    pub id: DecisionId,
    pub signed: Arc<Mutex<Signed>>,
}

type UnderWay = FuturesUnordered<BoxFuture<'static, (u64, Answer)>>;

impl Visiting {
    fn now(&self) -> u64 {
        self.line.executor().now_ms()
    }

    /// Visits for ever, whenever the device is open.
    pub async fn go_on(self) {
        loop {
            let (open, loads) = {
                let device = self.device.lock().unwrap();
                (device.open, device.loads)
            };
            if open {
                self.visit(loads).await;
            }
            self.line.pause(100, 1_000).await;
        }
    }

    /// One visit, until the device is closed or started again.
    async fn visit(&self, loads: u64) {
        let mut seed = [0; 32];
        self.line.executor().draw(|random| random.fill(&mut seed));
        let mut visitor = {
            let device = self.device.lock().unwrap();
            let (invitation, key) =
                (device.invitation.clone(), SigningKey::from_seed(&device.seed));
            Visitor::new(self.operators, self.id, invitation, key, &Secret::new(seed))
        };
        let mut under_way = UnderWay::new();
        visitor.wake(self.now());
        loop {
            while let Some(action) = visitor.next_action() {
                self.act(&mut visitor, action, loads, &under_way);
            }
            let current = {
                let device = self.device.lock().unwrap();
                device.open && device.loads == loads
            };
            if !current {
                return;
            }
            let left = visitor.wake_at().saturating_sub(self.now());
            let left = Duration::from_millis(left).min(BEAT);
            tokio::select! {
                biased;
                Some((id, answer)) = under_way.next() => {
                    visitor.answered(self.now(), id, answer);
                }
                () = self.line.executor().sleep(left) => visitor.wake(self.now()),
            }
        }
    }

    fn act(&self, visitor: &mut Visitor, action: Action, loads: u64, under_way: &UnderWay) {
        match action {
            Action::Ask(request) => {
                if let Call::Append { record, .. } = &request.call {
                    self.note(record);
                }
                let (id, one) = (request.id, self.clone());
                let answer = async move { (id, one.ask(request.party, request.call).await) };
                under_way.push(answer.boxed());
            }
            Action::Keep => self.keep(visitor),
            Action::Tell(news) => self.told(visitor, &news, loads),
        }
    }

    /// Writes down what is to be, unless the disk is full, or the device is closed before.
    fn keep(&self, visitor: &mut Visitor) {
        let mut device = self.device.lock().unwrap();
        let mut memory = device.memory();
        visitor.keep(&mut memory);
        let closed = self.line.executor().draw(|random| random.chance(5));
        if closed && !device.full {
            device.loads += 1;
        }
        let written = !device.full && !closed;
        if written {
            device.memory = serde_json::to_string(&memory).unwrap();
        }
        visitor.kept(self.now(), written);
    }

    /// What a device hands in is on its disk if it holds answers, and is one for its place.
    fn note(&self, record: &[u8]) {
        let signed = SignedRecord::decode(record).unwrap();
        if !matches!(signed.record.content, Content::Step { .. }) {
            return;
        }
        let device = self.device.lock().unwrap();
        assert!(
            device.memory.contains(&BASE64URL_NOPAD.encode(record)),
            "answers leave before they are written down"
        );
        let place = (signed.record.author, signed.record.previous);
        let mut all = self.signed.lock().unwrap();
        let before = all.insert(place, record.to_vec());
        assert!(before.is_none_or(|before| before == record), "two answers for one place");
    }

    /// What the user does, who is told something.
    fn told(&self, visitor: &mut Visitor, news: &News, loads: u64) {
        self.device.lock().unwrap().last = Some(news.clone());
        match news {
            News::Read => self.look(visitor, loads),
            News::Done(Deed::Answer) => self.device.lock().unwrap().answered = true,
            News::Refused(doubt) => panic!("honest servers are not believed: {doubt}"),
            News::Failed(deed, failure) => self.failed(visitor, *deed, failure, loads),
            _ => {}
        }
    }

    fn look(&self, visitor: &mut Visitor, loads: u64) {
        let (now, place) = (self.now(), visitor.person());
        let stage = visitor.chain().expect("it was read").stage();
        let mut device = self.device.lock().unwrap();
        device.accepted |= place.is_some();
        device.answers_are_taken |= stage == Stage::Answering;
        if stage == Stage::Accepting && place.is_none() {
            visitor.accept(now);
        }
        // Also if it is closed by now, because all have answered.
        let given = place
            .zip(visitor.chain())
            .is_some_and(|(place, chain)| chain.people()[usize::from(place)].answered().is_some());
        device.answered |= given;
        let (Some(answer), Stage::Answering) = (device.answer, stage) else { return };
        if given || visitor.is_wanted(Deed::Answer) {
            return;
        }
        let Some(fixed) = visitor.pending() else {
            visitor.answer(now, &[answer]);
            return;
        };
        assert_eq!(fixed, [answer], "answers are not what they were");
        // Whoever comes back may think otherwise; the device has fixed what was answered first.
        if loads % 2 == 1 && device.contradicts != Some(loads) {
            device.contradicts = Some(loads);
            visitor.answer(now, &[1 - answer]);
        } else {
            visitor.resume(now);
        }
    }

    /// What is honest is done sooner or later.
    fn failed(&self, visitor: &Visitor, deed: Deed, failure: &Failure, loads: u64) {
        let stage = visitor.chain().map(|chain| chain.stage());
        let over = match deed {
            Deed::Accept => stage != Some(Stage::Accepting) || visitor.person().is_some(),
            _ => stage != Some(Stage::Answering),
        };
        let contradicts = self.device.lock().unwrap().contradicts == Some(loads);
        let expected = match failure {
            Failure::NotKept | Failure::Away(_) | Failure::Busy => true,
            Failure::Refused(_) => over || (deed == Deed::Answer && contradicts),
            Failure::Server { refusal, .. } => refusal.status != 422,
            Failure::Key(_) => false,
        };
        assert!(expected, "what is honest is refused: {deed:?} {failure:?}");
    }

    async fn ask(self, party: PartyId, call: Call) -> Answer {
        let asked = self.line.ask(party, "decision", 0, |server| {
            async move { answer(server.driver()?, call).await }.boxed()
        });
        let answer = asked.await;
        if self.line.executor().draw(|random| random.chance(LOST)) {
            return Answer::Nothing;
        }
        match answer {
            None => Answer::Nothing,
            Some(Ok(answer)) => answer,
            Some(Err(error)) => {
                Answer::Refused(Refusal { status: error.status(), detail: error.to_string() })
            }
        }
    }
}

/// What a server answers. Nobody waits for news here: other things have their turns.
async fn answer(server: Arc<DecisionServer>, call: Call) -> Result<Answer, ServiceError> {
    Ok(match call {
        Call::Info(id) => Answer::Info(Box::new(server.decision(id)?)),
        Call::Records { decision, from } | Call::News { decision, from, .. } => {
            Answer::Records(server.records(decision, from).await?)
        }
        Call::Append { decision, record } => {
            server.append_record(decision, &record).await?;
            Answer::Taken
        }
        Call::Receipt { decision, number } => {
            let word = server.acknowledge(decision, number).await?;
            Answer::Acknowledged(Acknowledged { party: word.party.0, signature: word.signature })
        }
        Call::Helper => Answer::Helper(server.helper_key()?),
        Call::Deposit(deposit) => Answer::Deposited(server.deposit(None, &deposit).await?.receipt),
        Call::Level { owner, time, signature } => {
            Answer::Level(server.stock_level(owner, (time, signature)).await?)
        }
        Call::Stock { owner, keys } => Answer::Level(server.add_to_stock(owner, &keys).await?),
    })
}
