//! Join links at three servers: whoever asks is approved by the creator, and only those take part.

use data_encoding::BASE64URL_NOPAD;
use ostrakon_crypto::SigningKey;
use ostrakon_decide::draft::gathering::{Request, SignedGathering, Word, reading_digest};
use ostrakon_decide::*;
use ostrakon_node::Creator;
use ostrakon_node::Service;
use ostrakon_party::wire;
use ostrakon_protocol::ServiceError;

use super::asking::Asking;
use super::group::{
    account, certified, creator, draft, first_record, invitation, put_forward, refused, seeded,
};
use crate::common::{Deployment, now};

/// A join link that its creator has handed in everywhere.
struct Link {
    operators: Operators,
    id: GatheringId,
    signed: SignedGathering,
}

impl Link {
    async fn make(deployment: &Deployment) -> Self {
        let operators = Operators::new(&deployment.pinned().await).unwrap();
        let gathering = Gathering {
            question: "Shall we?".into(),
            creator: creator().verifying_key(),
            link: invitation(0).key().verifying_key(),
            until: now() + 1_000,
            nonce: [1; 16],
            servers: operators.digest,
        };
        let id = gathering.id(&operators);
        let signed = gathering.sign(&operators, &creator());
        for server in &deployment.servers {
            for _ in 0..2 {
                let made = server.gather(Creator::Guest(Some(1)), &wire::encode(&signed)).await;
                assert_eq!(made.expect("kept, and the same again").id, id.to_hex());
            }
        }
        Self { operators, id, signed }
    }

    fn request(&self, account: &SigningKey, name: &str) -> Vec<u8> {
        let asked = (self.id, &invitation(0));
        wire::encode(&Request::new(&self.operators, asked, account, name, now()))
    }

    fn word(&self, number: u32, refused: &[&SigningKey], decision: Option<DecisionId>) -> Vec<u8> {
        let refused = refused.iter().map(|key| key.verifying_key()).collect();
        let admitted = [account(1).verifying_key()].into();
        let word = Word { gathering: self.id, number, admitted, refused, decision };
        wire::encode(&word.sign(&self.operators, &creator()))
    }

    /// The names that the creator takes of what these servers show.
    async fn names(&self, servers: &[&Service]) -> Vec<String> {
        let mut shown = Vec::new();
        for server in servers {
            let time = now();
            let signature = creator().sign(&reading_digest(&self.operators, &self.id, time));
            let info = server.requests_to_join(self.id, (time, signature)).await.unwrap();
            let decoded = info.requests.iter().map(|one| BASE64URL_NOPAD.decode(one.as_bytes()));
            shown.extend(decoded.map(Result::unwrap));
        }
        let shown = shown.iter().map(Vec::as_slice);
        let found = self.signed.gathering.requests(&self.operators, shown);
        found.into_iter().map(|request| request.name).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn who_asks_by_the_one_link_takes_part_only_if_the_creator_says_so() {
    let mut deployment = Deployment::start().await;
    let link = Link::make(&deployment).await;
    let [p0, p1, p2] = [0, 1, 2].map(|server| deployment.servers[server].clone());
    // One server passes over Ben, another one over Eve.
    p1.ask_to_join(link.id, &link.request(&account(1), "Ben")).await.expect("kept");
    p1.ask_to_join(link.id, &link.request(&account(1), "Ben")).await.expect("once more");
    p2.ask_to_join(link.id, &link.request(&account(2), "Eve")).await.expect("kept");
    assert_eq!(link.names(&[&p0, &p1]).await, ["Ben"]);
    assert_eq!(link.names(&[&p0, &p1, &p2]).await.len(), 2);

    // Nobody else reads the names, or answers.
    let (time, key) = (now(), account(1));
    let signature = key.sign(&reading_digest(&link.operators, &link.id, time));
    let read = p1.requests_to_join(link.id, (time, signature)).await;
    assert!(matches!(read, Err(ServiceError::Forbidden(_))), "{read:?}");
    let old = creator().sign(&reading_digest(&link.operators, &link.id, time - 400));
    let read = p1.requests_to_join(link.id, (time - 400, old)).await;
    assert!(matches!(read, Err(ServiceError::Forbidden(_))), "{read:?}");
    refused(p1.answer_requests(link.id, &link.request(&key, "Ben")).await, "join link");
    refused(p1.ask_to_join(link.id, b"junk").await, "join link");

    // Who is refused is gone, and stays away.
    for server in [&p0, &p1, &p2] {
        server.answer_requests(link.id, &link.word(1, &[&account(2)], None)).await.expect("kept");
        let again = server.ask_to_join(link.id, &link.request(&account(2), "Eva")).await;
        assert!(matches!(again, Err(ServiceError::Conflict(_))), "{again:?}");
    }
    deployment.stop(1).await;
    deployment.start_again(1).await;
    let p1 = deployment.servers[1].clone();
    assert_eq!(link.names(&[&p1, &p2]).await, ["Ben"], "after a restart");
    let back = p1.answer_requests(link.id, &link.word(1, &[], None)).await;
    assert!(matches!(back, Err(ServiceError::Conflict(_))), "an older word: {back:?}");

    let mut planned = draft(&link.operators, 2, 7);
    planned.gathering = Some(link.id);
    planned.people[1].seat = Seat::Account(account(1).verifying_key());
    let stocked = certified(&deployment, &link.operators, &account(1), 2, &mut seeded(3)).await;
    let keys = wire::encode(&vec![stocked]);
    p0.add_to_stock(account(1).verifying_key(), &keys).await.expect("in stock");
    let first = first_record(&deployment, &link.operators, &planned).await;
    p0.create_decision(Creator::Guest(None), &first.encode()).await.expect("begun");
    p1.answer_requests(link.id, &link.word(2, &[], Some(planned.id()))).await.expect("kept");
    let late = p1.ask_to_join(link.id, &link.request(&account(4), "Late")).await;
    assert!(matches!(late, Err(ServiceError::Conflict(_))), "{late:?}");

    // The server could not have put Eve there: the draft is what the creator has signed.
    let mut forged = SignedRecord::decode(&first.encode()).unwrap();
    if let Content::Create(creation) = &mut forged.record.content {
        creation.draft.people[1].seat = Seat::Account(account(2).verifying_key());
    }
    refused(p0.create_decision(Creator::Administrator, &forged.encode()).await, "decision");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_join_link_ends_at_its_time() {
    let deployment = Deployment::start().await;
    let link = Link::make(&deployment).await;
    put_forward(&deployment, 0);
    let late = deployment.servers[0].ask_to_join(link.id, &link.request(&account(1), "Ben")).await;
    refused(late, "over");
    let other = Gathering { nonce: [2; 16], ..link.signed.gathering.clone() };
    let other = wire::encode(&other.sign(&link.operators, &creator()));
    refused(deployment.servers[0].gather(Creator::Administrator, &other).await, "over");
    refused(deployment.servers[1].gather(Creator::Administrator, b"junk").await, "join link");
}
