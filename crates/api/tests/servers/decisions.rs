//! Private decisions at three servers, with visits at the same time, restarts, people who stay
//! away, and cheats.

pub mod asking;
mod damage;
mod gathering;
pub mod group;
mod mail;

use std::time::Duration;

use ostrakon_crypto::{SigningKey, Stream};
use ostrakon_decide::keys::shares::new_key;
use ostrakon_decide::*;
use ostrakon_decisions::{DRAFTS, LAYERS, NUMBER, SHARES, Word};
use ostrakon_node::Creator;
use ostrakon_node::Service;
use ostrakon_node::announcement::{Announcement, Body};
use ostrakon_party::{Recipient, wire};
use ostrakon_protocol::ServiceError;
use ostrakon_protocol::decisions::DecisionStage;
use sqlx::{AnyConnection, Connection};

use self::asking::Asking;
use self::group::{
    EXPIRES, Group, account, certified, creator, draft, draft_of, draw, first_record, put_forward,
    put_forward_by, records, refused, seeded,
};
use crate::common::scene::{P0, P1, P2, Scene, tag};
use crate::common::{Deployment, LONG, key, now};

/// Hands a key for a stock in at P0.
async fn stock(deployment: &Deployment, operators: &Operators, rng: &mut Stream) -> CertifiedKey {
    let key = certified(deployment, operators, &account(0), 2, rng).await;
    let handed_in = wire::encode(&vec![&key]);
    let level = deployment.servers[0]
        .add_to_stock(account(0).verifying_key(), &handed_in)
        .await
        .expect("in stock");
    assert_eq!((level.stock, level.wanted), (1, 8));
    let elsewhere =
        deployment.servers[1].add_to_stock(account(0).verifying_key(), &handed_in).await;
    assert!(matches!(elsewhere, Err(ServiceError::Elsewhere(_))));
    refused(
        deployment.servers[0].add_to_stock(account(1).verifying_key(), &handed_in).await,
        "another account",
    );
    key
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn everybody_answers_once_while_servers_are_killed() {
    let mut deployment = Deployment::start().await;
    let operators = Operators::new(&deployment.pinned().await).unwrap();
    let stocked = stock(&deployment, &operators, &mut seeded(9)).await;
    let mut group = Group::create(&deployment, 2, 1).await;
    // The first person is away and was asked all the same: the key came from the stock, and is used
    // up.
    group.until(&deployment, 0, |info| info.records == 2).await;
    let (owner, time) = (account(0).verifying_key(), now());
    let sign = |key: &SigningKey, time| key.sign(&keys::stock_digest(&operators, &owner, time));
    let ask = |signed| deployment.servers[0].stock_level(owner, signed);
    assert_eq!(ask((time, sign(&account(0), time))).await.unwrap().stock, 0);
    for (time, signer) in [(time, 1), (time - 400, 0), (time + 400, 0)] {
        let level = ask((time, sign(&account(signer), time))).await;
        assert!(matches!(level, Err(ServiceError::Forbidden(_))), "{level:?}");
    }
    refused(
        deployment.servers[0].add_to_stock(account(0).verifying_key(), b"junk").await,
        "no list",
    );
    let again = deployment.servers[0]
        .add_to_stock(account(0).verifying_key(), &wire::encode(&vec![stocked]))
        .await;
    assert_eq!(again.unwrap().stock, 0, "a key that stands in a decision does not come back");
    group.accept(&deployment, 2).await;
    group.accept(&deployment, 1).await;
    group.until(&deployment, 0, |info| info.stage == DecisionStage::Answering).await;

    // Two people visit at the same time: one of them reads on and comes again, and none is lost.
    let steps = [group.step(&deployment, 2, 0).await, group.step(&deployment, 0, 0).await];
    let [one, other] = steps.clone().map(|step| step.encode());
    let p0 = deployment.servers[0].clone();
    let answers =
        tokio::join!(p0.append_record(group.id, &one), p0.append_record(group.id, &other));
    let (winner, loser) = if answers.0.is_ok() { (&one, answers.1) } else { (&other, answers.0) };
    assert!(matches!(loser, Err(ServiceError::Conflict(_))), "{loser:?}");
    p0.append_record(group.id, winner).await.expect("the same again");
    let late = if winner == &one { 0 } else { 2 };
    deployment.stop(1).await;
    group.answer(&deployment, late, 0).await;
    deployment.start_again(1).await;
    deployment.stop(0).await;
    deployment.start_again(0).await;
    group.answer(&deployment, 1, 1).await;
    group.everywhere(&deployment, DecisionStage::Done).await;

    let heads: Vec<_> =
        deployment.servers.iter().map(|server| server.decision(group.id).unwrap().head).collect();
    assert!(heads.iter().all(|head| head == &heads[0]), "one history");
    for server in deployment.servers.clone() {
        assert_eq!(group.result(&server).await, [Meaning::Counts(vec![2, 1])]);
    }
    let visit = group.visit(&deployment.servers[2].clone()).await;
    let verified = visit.chain().unwrap().next(&account(1), now(), Content::Verified);
    deployment.servers[0].append_record(group.id, &verified.encode()).await.expect("taken");
    group.until(&deployment, 1, |info| info.verified == 1).await;
    let audit = deployment.servers[0].audit(None, 100).await.unwrap();
    let of_it = audit.iter().filter(|record| record.detail.contains(&group.id.to_hex()));
    let actions: Vec<_> = of_it.map(|record| record.action.as_str()).collect();
    assert_eq!(actions, ["close decision", "create decision"], "and nothing of who answered");
    for server in 0..3 {
        assert!(deployment.servers[server].faults().await.unwrap().is_empty());
    }
}

/// P0's clock is its own: whom it would call absent may still answer, at another server if P0 does
/// not listen, and counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nobody_is_absent_before_all_servers_say_so_and_what_one_of_them_holds_counts() {
    let mut deployment = Deployment::start().await;
    let mut group = Group::answering_of(5, &deployment, 2, 2).await;
    for person in [1, 3, 4] {
        group.answer(&deployment, person, 0).await;
    }
    let late = group.step(&deployment, 2, 0).await.encode();
    put_forward(&deployment, 0);
    let answer = deployment.servers[0].append_record(group.id, &late).await;
    assert!(
        matches!(answer, Err(ServiceError::Conflict(_))),
        "no answers after the deadline: {answer:?}"
    );
    tokio::time::sleep(Duration::from_secs(3)).await;
    let info = deployment.servers[1].decision(group.id).unwrap();
    assert_eq!(info.stage, DecisionStage::Answering, "P0 cannot make others hurry");
    // The others take the step, and P0 has it from them.
    let held = deployment.servers[1].append_record(group.id, &late).await.unwrap();
    assert!(held.held, "{held:?}");
    group.until(&deployment, 0, |info| info.answered == 4).await;
    group.until(&deployment, 2, |info| info.answered == 4).await;
    let again = deployment.servers[2].append_record(group.id, &late).await;
    assert!(matches!(again, Err(ServiceError::Conflict(_))), "it is in the chain: {again:?}");
    // One is killed meanwhile, and says that it is time when it is back.
    deployment.stop(2).await;
    put_forward(&deployment, 1);
    put_forward(&deployment, 2);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let info = deployment.servers[0].decision(group.id).unwrap();
    assert_eq!(info.stage, DecisionStage::Answering, "one has not said so");
    deployment.start_again(2).await;
    group.everywhere(&deployment, DecisionStage::Done).await;
    let p2 = deployment.servers[2].clone();
    assert_eq!(group.result(&p2).await, [Meaning::Counts(vec![4, 1])], "the assumed answer counts");
    for server in 0..3 {
        assert!(deployment.servers[server].faults().await.unwrap().is_empty());
        erased(&deployment, server, &group).await;
    }
}

/// How many items a server keeps in a drawer of decisions.
async fn count(deployment: &Deployment, server: usize, drawer: u8, which: &str) -> i64 {
    let mut database = database(deployment, server).await;
    let query = format!(
        "SELECT count(*) FROM job_items WHERE job = {NUMBER} AND drawer = {drawer} AND {which}"
    );
    sqlx::query_scalar(sqlx::AssertSqlSafe(query)).fetch_one(&mut database).await.unwrap()
}

async fn database(deployment: &Deployment, server: usize) -> AnyConnection {
    sqlx::any::install_default_drivers();
    let url = format!("sqlite://{}", deployment.data(server).join("ostrakon.db").display());
    AnyConnection::connect(&url).await.unwrap()
}

/// Nothing is left of what could open the answers: no share, and no layer.
async fn erased(deployment: &Deployment, server: usize, group: &Group) {
    for drawer in [DRAFTS, LAYERS, SHARES] {
        let until = async {
            while count(deployment, server, drawer, "length(body) > 0").await > 0 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(LONG, until).await.expect("nothing is left of it");
    }
    assert_eq!(count(deployment, server, DRAFTS, "true").await, 0);
    assert_eq!(count(deployment, server, LAYERS, "true").await, 0);
    let names = count(deployment, server, SHARES, "true").await;
    assert!(names >= 5, "their names stay, so that nothing else is taken under them: {names}");
    assert!(deployment.servers[server].decision(group.id).is_ok());
}

/// Who never opens the link does not kill a decision; two servers sign for what was answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn it_goes_on_without_who_has_not_accepted_and_two_servers_sign_receipts() {
    let deployment = Deployment::start().await;
    let mut group = Group::create_of(5, &deployment, 2, 4).await;
    for person in 0..4 {
        group.accept(&deployment, person).await;
    }
    (0..3).for_each(|server| {
        put_forward_by(&deployment, server, crate::decisions::group::TIME * 2 / 3)
    });
    group.until(&deployment, 0, |info| info.stage == DecisionStage::Answering).await;
    assert_eq!(deployment.servers[0].decision(group.id).unwrap().people, 4);
    group.answer(&deployment, 0, 1).await;
    let (p0, p1) = (deployment.servers[0].clone(), deployment.servers[1].clone());
    group.until(&deployment, 1, |info| info.answered == 1).await;
    let visit = group.visit(&p1).await;
    let me = account(0).verifying_key();
    let mut receipt = visit.confirmed(&me, &mut Memory::default()).unwrap();
    for server in [&p0, &p1] {
        let word = server.acknowledge(group.id, receipt.number).await.unwrap();
        receipt.add(&group.operators, word).unwrap();
    }
    assert_eq!(receipt.verify(&group.operators), Ok(()));
    let none = p1.acknowledge(group.id, receipt.number + 1).await;
    assert!(matches!(none, Err(ServiceError::NotFound(_))), "{none:?}");
    for person in 1..4 {
        group.answer(&deployment, person, 0).await;
    }
    group.everywhere(&deployment, DecisionStage::Done).await;
    assert_eq!(group.result(&p1).await, [Meaning::Counts(vec![3, 1])]);
}

/// A server loses its share of the one-time key that a person has in a decision.
async fn lose_share(deployment: &Deployment, group: &mut Group, server: usize, person: u8) {
    let visit = group.visit(&deployment.servers[0]).await;
    let name = visit.chain().unwrap().people()[usize::from(person)].key().unwrap().name();
    let mut database = database(deployment, server).await;
    let delete = "DELETE FROM job_items WHERE job = $1 AND drawer = $2 AND key = $3";
    let delete = sqlx::query(delete).bind(i64::from(NUMBER)).bind(i64::from(SHARES));
    let delete = delete.bind([&name.owner.0[..], &name.serial.0].concat());
    assert_eq!(delete.execute(&mut database).await.unwrap().rows_affected(), 1, "it had one");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_that_lacks_shares_gives_what_it_can() {
    let deployment = Deployment::start().await;
    let mut enough = Group::answering_of(5, &deployment, 2, 2).await;
    for person in [0, 3, 4] {
        enough.answer(&deployment, person, 0).await;
    }
    lose_share(&deployment, &mut enough, 0, 1).await;
    lose_share(&deployment, &mut enough, 1, 2).await;
    let mut too_few = Group::answering_of(4, &deployment, 2, 3).await;
    for person in [0, 1, 3] {
        too_few.answer(&deployment, person, 0).await;
    }
    lose_share(&deployment, &mut too_few, 0, 2).await;
    lose_share(&deployment, &mut too_few, 1, 2).await;
    (0..3).for_each(|server| put_forward(&deployment, server));

    enough.everywhere(&deployment, DecisionStage::Done).await;
    let p1 = deployment.servers[1].clone();
    assert_eq!(
        enough.result(&p1).await,
        [Meaning::Counts(vec![3, 2])],
        "servers 1 and 2 for the one, 0 and 2 for the other"
    );
    assert_eq!(p1.decision(enough.id).unwrap().refusal, None);
    too_few.everywhere(&deployment, DecisionStage::Done).await;
    for server in &deployment.servers {
        let refusal = server.decision(too_few.id).unwrap().refusal.expect("a reason");
        assert!(
            refusal.contains("“person 2”")
                && refusal
                    .contains("only server 2 did; server 0 and server 1, which signed for a share"),
            "{refusal}"
        );
    }
    for (server, lacking) in [(0, 2), (1, 2), (2, 0)] {
        let audit = deployment.servers[server].audit(None, 100).await.unwrap();
        let noted = audit
            .iter()
            .filter(|record| record.action == "open decision without all shares")
            .count();
        assert_eq!(noted, lacking, "server {server}");
        let of_others = async || {
            let audit = deployment.servers[server].audit(None, 100).await.unwrap();
            let missing = audit.iter().filter(|one| one.action == "parts for absentees missing");
            missing.count() == 4 - lacking
        };
        let noted = async {
            while !of_others().await {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(LONG, noted).await.expect("the others' lack is on record");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn decisions_that_cannot_have_a_result_lapse_or_are_cancelled() {
    let deployment = Deployment::start().await;
    let mut without_helpers = Group::answering(&deployment, 0, 3).await;
    without_helpers.answer(&deployment, 0, 1).await;
    let not_begun = Group::create(&deployment, 2, 4).await;
    let mut cancelled = Group::create(&deployment, 2, 5).await;
    let p0 = deployment.servers[0].clone();
    let chain = cancelled.visit(&p0).await.chain().unwrap().clone();
    let strangers = chain.next(&account(1), now(), Content::Cancel);
    refused(p0.append_record(cancelled.id, &strangers.encode()).await, "only the creator");
    let cancel = chain.next(&creator(), now(), Content::Cancel).encode();
    let elsewhere = deployment.servers[2].append_record(cancelled.id, &cancel).await;
    assert!(matches!(elsewhere, Err(ServiceError::Elsewhere(_))));
    p0.append_record(cancelled.id, &cancel).await.expect("cancelled");
    (0..3).for_each(|server| put_forward(&deployment, server));
    without_helpers.everywhere(&deployment, DecisionStage::Lapsed).await;
    not_begun.everywhere(&deployment, DecisionStage::Lapsed).await;
    cancelled.everywhere(&deployment, DecisionStage::Cancelled).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_wrong_is_refused_with_its_reason() {
    let deployment = Deployment::start().await;
    let operators = Operators::new(&deployment.pinned().await).unwrap();
    let mut group = Group::create(&deployment, 2, 6).await;
    let p0 = deployment.servers[0].clone();
    let junk = [0xff; 300];
    refused(p0.deposit(None, &junk).await, "no deposit");
    refused(p0.layer(None, &junk).await, "no draft");
    refused(p0.create_decision(Creator::Administrator, &junk).await, "malformed");
    refused(p0.append_record(group.id, &junk).await, "malformed");
    let unknown = p0.append_record(DecisionId([7; 16]), &records(&p0, group.id).await[0]).await;
    assert!(matches!(unknown, Err(ServiceError::NotFound(_))), "{unknown:?}");

    let mut past = draft(&operators, 2, 7);
    (past.deadline, past.accept_by) = (now() - 1, now() - 2);
    let record = first_record(&deployment, &operators, &past).await.encode();
    assert!(matches!(
        p0.create_decision(Creator::Administrator, &record).await,
        Err(ServiceError::Refused(_))
    ));
    let mut foreign = draft(&operators, 2, 7);
    foreign.servers.0[0] ^= 1;
    refused(p0.layer(None, &wire::encode(&foreign)).await, "other servers");

    // One serial, two keys.
    let helpers: Vec<_> =
        deployment.servers.iter().map(|server| server.helper_key().unwrap()).collect();
    let serial = Serial([5; 16]);
    let expires = now() + EXPIRES;
    let mut deposit = |threshold, helper: usize| {
        let terms = (threshold, expires);
        let new =
            new_key(&account(0), serial, terms, &operators, &helpers, &mut group.rng).unwrap();
        wire::encode(&new.deposits[helper])
    };
    let (first, second, misdirected) = (deposit(2, 0), deposit(3, 0), deposit(2, 1));
    let receipt = p0.deposit(None, &first).await.unwrap();
    assert_eq!(p0.deposit(None, &first).await.unwrap(), receipt, "the same again");
    assert!(matches!(p0.deposit(None, &second).await, Err(ServiceError::Conflict(_))));
    refused(p0.deposit(None, &misdirected).await, "server 1");

    // One key, two decisions.
    let key = group.certified(&deployment, 0).await;
    let mut other = Group::create(&deployment, 2, 8).await;
    let accept = group.visit(&p0).await.accept(&account(0), key.clone(), None, now()).unwrap();
    p0.append_record(group.id, &accept.encode()).await.expect("accepted");
    let accept = other.visit(&p0).await.accept(&account(0), key, None, now()).unwrap();
    refused(p0.append_record(other.id, &accept.encode()).await, "another decision");
}

/// P0 in the hands of the test, with a decision of two people whom nobody stands in for.
struct CorruptP0 {
    scene: Scene,
    operators: Operators,
    announced: u64,
    rng: Stream,
    chain: Chain,
    records: Vec<Vec<u8>>,
}

impl CorruptP0 {
    async fn start() -> Self {
        Self::start_with(2).await
    }

    async fn start_with(people: u8) -> Self {
        let scene = Scene::without(P0).await;
        let info = scene.honest[0].servers().await.unwrap();
        let servers = ostrakon_party::Servers {
            session: scene.party.roster.session,
            keys: scene.party.roster.keys.clone(),
        };
        let operators = Operators::new(&servers).unwrap();
        assert_eq!(operators.digest.to_hex(), info.digest);
        let mut draft = draft_of(people, &operators, 0, 1);
        for (person, asked) in (0..).zip(&mut draft.people) {
            asked.seat = Seat::Account(account(person).verifying_key());
        }
        let mut rng = seeded(1);
        let drawn = ostrakon_crypto::Secret::new([1; 32]);
        let mut layers =
            vec![Layer::of((&drawn, now()), &key(0), P0, &operators, &draft, &mut rng).unwrap()];
        for server in &scene.honest {
            let info = server.layer(None, &wire::encode(&draft)).await.unwrap();
            let layer = data_encoding::BASE64URL_NOPAD.decode(info.layer.as_bytes()).unwrap();
            layers.push(wire::decode(&layer).unwrap());
        }
        let first =
            record::create(draft, layers.try_into().unwrap(), &operators, &creator(), now());
        let chain = Chain::begin(operators, &first).unwrap();
        let mut world = Self { scene, operators, announced: 0, rng, chain, records: Vec::new() };
        world.announce(&first);
        world
    }

    /// Says a record to both others.
    fn announce(&mut self, record: &SignedRecord) {
        self.records.push(record.encode());
        self.say(Word::Record(record.encode()));
    }

    fn say(&mut self, word: Word) {
        self.say_of(self.chain.id(), word);
    }

    fn say_of(&mut self, id: DecisionId, word: Word) {
        let body = Body::Job { job: NUMBER, subject: id.0, word: word.encode() };
        let bytes = Announcement { after: vec![self.announced, 0, 0], body }.encode();
        for to in [P1, P2] {
            self.scene.say(to, Recipient::All, tag(P0, self.announced, 1), &bytes);
        }
        self.announced += 1;
    }

    fn next(&mut self, key: &SigningKey, content: Content) {
        let record = self.chain.next(key, now(), content);
        self.chain.apply(&record).expect("the rules allow it");
        self.announce(&record);
    }

    fn accept_all(&mut self, people: u8) {
        for person in 0..people {
            let serial = Serial(draw(&mut self.rng));
            let new =
                new_key(&account(person), serial, (0, 0), &self.operators, &[], &mut self.rng)
                    .unwrap();
            let key = keys::certify(&account(person), new.statement, Vec::new(), &self.operators)
                .unwrap();
            self.next(
                &account(person),
                Content::Accept { person: person.into(), key, claim: None },
            );
        }
    }

    fn step(&mut self, person: u8) -> Vec<u8> {
        let mut visit = Visit::new(self.operators, self.chain.id());
        for record in &self.records {
            visit.read(record, &mut self.rng).unwrap();
        }
        visit.verify(&mut self.rng).unwrap();
        let signed = visit
            .answer(&account(person), &[1], &mut Memory::default(), now(), &mut self.rng)
            .unwrap();
        match signed.record.content {
            Content::Step { step, .. } => step,
            _ => unreachable!("an answer is a step"),
        }
    }

    async fn until(&self, what: &str, condition: impl AsyncFn(&Service) -> bool) {
        for server in &self.scene.honest {
            let wait = async {
                while !condition(server).await {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            };
            tokio::time::timeout(LONG, wait).await.expect(what);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_step_that_p0_let_pass_is_not_opened_and_its_author_is_named() {
    let mut world = CorruptP0::start().await;
    world.accept_all(2);
    let step = world.step(0);
    world.next(&account(0), Content::Step { person: 0, step });
    let mut step = world.step(1);
    let middle = step.len() - 40;
    step[middle] ^= 1;
    world.next(&account(1), Content::Step { person: 1, step });
    world.next(&key(0), Content::Close { absent: Vec::new() });
    let id = world.chain.id();
    world
        .until("a refusal", async |server| {
            server.decision(id).is_ok_and(|info| info.refusal.is_some())
        })
        .await;
    for server in &world.scene.honest {
        let info = server.decision(id).unwrap();
        assert!(info.refusal.unwrap().contains("“person 1”"));
        assert_eq!((info.stage, info.openings), (DecisionStage::Closed, Vec::new()));
        let audit = server.audit(None, 10).await.unwrap();
        assert!(audit.iter().any(|record| record.action == "refuse to open decision"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_p0_puts_against_the_rules_into_the_chain_is_refused_by_both_others() {
    let mut world = CorruptP0::start().await;
    let id = world.chain.id();
    // A record that is left out, one of a stranger, an opening before the close, a close before the
    // session, and junk.
    let serial = Serial([1; 16]);
    let new = new_key(&account(0), serial, (0, 0), &world.operators, &[], &mut world.rng).unwrap();
    let key_of_0 = keys::certify(&account(0), new.statement, Vec::new(), &world.operators).unwrap();
    let accept = world.chain.next(
        &account(0),
        now(),
        Content::Accept { person: 0, key: key_of_0, claim: None },
    );
    let mut ahead = world.chain.clone();
    ahead.apply(&accept).unwrap();
    let gap = ahead.next(&creator(), now(), Content::Cancel);
    let stranger = world.chain.next(&account(1), now(), Content::Cancel);
    let early = world.chain.next(&key(0), now(), Content::Close { absent: vec![0, 1] });
    for record in [&gap, &stranger, &early] {
        world.say(Word::Record(record.encode()));
    }
    let opening =
        Opening { close: world.chain.head(), layer: vec![1; 64], absent: Vec::new() }.encode();
    world.say(Word::Opened(opening));
    world.say(Word::Record(vec![0xff; 500]));
    world.say_of(DecisionId([9; 16]), Word::Record(accept.encode()));
    world.until("six faults", async |server| server.faults().await.unwrap().len() == 6).await;
    for server in &world.scene.honest {
        assert!(server.faults().await.unwrap().iter().all(|fault| fault.culprit == 0));
        let info = server.decision(id).unwrap();
        assert_eq!((info.records, info.head), (1, world.chain.head().to_hex()));
    }
    // The log goes on.
    world.accept_all(2);
    world
        .until("answering", async |server| {
            server.decision(id).is_ok_and(|info| info.stage == DecisionStage::Answering)
        })
        .await;
}

/// attacks.md 4.12: P0 signs any time that it likes, and leaves somebody out before it is time by
/// the others' clocks, or ends a decision early.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whom_p0_leaves_out_early_is_not_left_out() {
    let mut world = CorruptP0::start_with(4).await;
    world.accept_all(3);
    let (id, draft) = (world.chain.id(), world.chain.draft().clone());
    let begin = world.chain.next(&key(0), draft.accept_by, Content::Begin { without: vec![3] });
    assert_eq!(world.chain.check(&begin), Ok(()), "its own word for the time is all that it takes");
    world.say(Word::Record(begin.encode()));
    world.say(Word::Due(Date::Accept));
    let without = world.chain.goes_on_without().unwrap();
    let begin = world.chain.next(&key(0), u64::MAX, Content::Begin { without });
    world.say(Word::Record(begin.encode()));
    world.until("two faults", async |server| server.faults().await.unwrap().len() == 2).await;
    for server in &world.scene.honest {
        let info = server.decision(id).unwrap();
        assert_eq!((info.stage, info.people), (DecisionStage::Accepting, 4));
    }
    // The last one accepts, one answers, and P0 says that the time to answer is over.
    let serial = Serial([4; 16]);
    let new = new_key(&account(3), serial, (0, 0), &world.operators, &[], &mut world.rng).unwrap();
    let last = keys::certify(&account(3), new.statement, Vec::new(), &world.operators).unwrap();
    world.next(&account(3), Content::Accept { person: 3, key: last, claim: None });
    let step = world.step(0);
    world.next(&account(0), Content::Step { person: 0, step });
    let lapse = world.chain.next(&key(0), draft.deadline, Content::Lapse);
    assert_eq!(world.chain.check(&lapse), Ok(()));
    world.say(Word::Record(lapse.encode()));
    world.until("three faults", async |server| server.faults().await.unwrap().len() == 3).await;
    for server in &world.scene.honest {
        assert!(server.faults().await.unwrap().iter().all(|fault| fault.culprit == 0));
        assert_eq!(server.decision(id).unwrap().stage, DecisionStage::Answering);
    }
}
