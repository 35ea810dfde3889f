//! Hosts at three servers: one order, and members only.

use ostrakon_broadcast::hosting::{Claim, Deed, HostLog, Refused, SignedAction};
use ostrakon_crypto::Digest;
use ostrakon_mixing::envelope;
use ostrakon_mixing::envelope::IssueName;
use ostrakon_mixing::room::{Admission, RoomId};
use ostrakon_party::PartyId;
use ostrakon_protocol::ServiceError;
use ostrakon_protocol::{NewRoom, Presence};

use crate::common::{Deployment, collects, issue_request, key, now};

/// A room and its host.
pub struct Hosted {
    pub room: RoomId,
    pub log: HostLog,
}

impl Hosted {
    pub async fn create(deployment: &Deployment, room: NewRoom) -> Self {
        let host = Some(key(77).verifying_key());
        let room = NewRoom { host, payload: 64, capacity: 12, seconds: 1, minimum: 2, ..room };
        let info = deployment.servers[1].create_room(room).await.unwrap();
        let room = RoomId::from_hex(&info.id).unwrap();
        deployment.until_status(0, room, |_| true).await;
        Self { room, log: HostLog::new(&deployment.pinned().await, &info.descriptor) }
    }

    pub fn next(&self, deed: Deed) -> SignedAction {
        self.log.act(&key(77), 5, deed)
    }

    /// Does something, and waits until every server knows.
    pub async fn act(&mut self, deployment: &Deployment, deed: Deed) {
        let action = self.next(deed);
        let taken = deployment.servers[0].act(self.room, action.clone()).await.expect("taken");
        assert_eq!(taken.number, self.log.length());
        deployment.servers[0].act(self.room, action.clone()).await.expect("the same again");
        self.log.apply(&action).unwrap();
        self.heard(deployment).await;
    }

    /// Waits until every server knows what this host knows.
    async fn heard(&self, deployment: &Deployment) {
        for server in 0..3 {
            deployment
                .until_status(server, self.room, |status| status.actions == self.log.length())
                .await;
        }
    }

    /// The claim of the invitation with the key of seed `link` for the key of seed `taker`.
    async fn claim(&self, deployment: &Deployment, link: u8, taker: u8) -> Claim {
        Claim::sign(&deployment.pinned().await.digest(), &self.room, &key(link), &key(taker))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_host_who_has_not_got_the_answer_asks_again_and_gets_the_same_room() {
    let deployment = Deployment::start().await;
    let server = &deployment.servers[1];
    let wish = |host: Option<u8>, name: &str| NewRoom {
        host: host.map(|seed| key(seed).verifying_key()),
        capacity: 12,
        ..NewRoom::named(name)
    };
    let first = server.create_room(wish(Some(77), "a room")).await.unwrap();
    assert_eq!(server.create_room(wish(Some(77), "a room")).await.unwrap(), first);
    let id = RoomId::from_hex(&first.id).unwrap();
    deployment.until_status(2, id, |_| true).await;
    assert_eq!(deployment.servers[2].create_room(wish(Some(77), "a room")).await.unwrap(), first);
    assert_eq!(server.rooms().await.unwrap().len(), 1);
    // Another wish, another host, none, or one whose room is closed: another room.
    for other in [
        wish(Some(77), "another"),
        wish(Some(78), "a room"),
        wish(None, "a room"),
        wish(None, "a room"),
    ] {
        server.create_room(other).await.unwrap();
    }
    server.close_room(id).await.unwrap();
    assert_ne!(server.create_room(wish(Some(77), "a room")).await.unwrap().id, first.id);
    assert_eq!(server.rooms().await.unwrap().len(), 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn members_take_part_as_soon_as_they_are_admitted_and_nobody_else_does() {
    let mut deployment = Deployment::start().await;
    let members = NewRoom { admission: Admission::Members, ..NewRoom::named("a room") };
    let mut hosted = Hosted::create(&deployment, members).await;
    let room = hosted.room;
    deployment.until_status(1, room, |status| collects(status, 0)).await;
    assert!(matches!(deployment.present(room, 1, 10).await, Err(ServiceError::Forbidden(_))));
    let admit = Deed::Admit { keys: [10, 11, 12].map(|seed| key(seed).verifying_key()).to_vec() };
    let action = hosted.next(admit.clone());
    let elsewhere = deployment.servers[1].act(room, action).await;
    assert!(
        matches!(elsewhere, Err(ServiceError::Elsewhere(_))),
        "the first server puts actions into order"
    );
    hosted.act(&deployment, admit).await;
    // Who was admitted, and to which epoch, is known again after a restart.
    deployment.stop(1).await;
    deployment.start_again(1).await;
    deployment.speak(room, 0).await;
    deployment.everywhere(room, 1).await;
    assert!(matches!(deployment.present(room, 1, 13).await, Err(ServiceError::Forbidden(_))));
    let page = deployment.servers[2].actions(room, 0).await.unwrap();
    let mut read = HostLog::new(
        &deployment.pinned().await,
        &deployment.servers[2].room(room).await.unwrap().descriptor,
    );
    page.actions.iter().for_each(|action| read.apply(action).unwrap());
    assert_eq!(read, hosted.log);
}

/// Otherwise whoever names keys would be told which of them are admitted.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nobody_learns_who_is_a_member_without_a_signature() {
    let deployment = Deployment::start().await;
    let members = NewRoom { admission: Admission::Members, ..NewRoom::named("a room") };
    let mut hosted = Hosted::create(&deployment, members).await;
    let room = hosted.room;
    hosted.act(&deployment, Deed::Admit { keys: vec![key(10).verifying_key()] }).await;
    deployment.until_status(1, room, |status| status.actions == 1).await;
    let mut refusals = Vec::new();
    for seed in [10, 11] {
        let presence = Presence {
            key: key(seed).verifying_key(),
            time: now(),
            signature: key(99).sign(&Digest([0; 32])),
        };
        refusals.push(deployment.servers[1].presence(room, presence).await.unwrap_err());
    }
    assert_eq!(refusals[0], refusals[1]);
    assert!(refusals[0].to_string().contains("signature"), "{}", refusals[0]);
}

/// Links of the seeds 30, 31, 32 are claimed by the devices of the seeds 10, 11, 12, which take
/// part from then on. Who knows a link's key, as the host does, is given nothing by any server, and
/// can open nothing that its taker is given.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_invitation_is_claimed_once_and_whoever_knows_its_key_is_given_nothing() {
    let mut deployment = Deployment::start().await;
    let members = NewRoom { admission: Admission::Members, ..NewRoom::named("a room") };
    let mut hosted = Hosted::create(&deployment, members).await;
    let room = hosted.room;
    let links = [30, 31, 32].map(|seed| key(seed).verifying_key());
    let early = hosted.claim(&deployment, 30, 10).await;
    assert!(matches!(
        deployment.servers[0].claim(room, early.clone()).await,
        Err(ServiceError::Forbidden(_))
    ));
    hosted.act(&deployment, Deed::Invite { keys: links.to_vec() }).await;
    assert!(matches!(deployment.present(room, 1, 30).await, Err(ServiceError::Forbidden(_))));
    let elsewhere = deployment.servers[2].claim(room, early).await;
    assert!(
        matches!(elsewhere, Err(ServiceError::Elsewhere(_))),
        "the first server keeps the order"
    );

    // All at once: nobody has to try again because somebody else was faster.
    let claims = [
        hosted.claim(&deployment, 30, 10),
        hosted.claim(&deployment, 31, 11),
        hosted.claim(&deployment, 32, 12),
    ];
    let claims = futures::future::join_all(claims).await;
    let taken = claims.iter().map(|claim| deployment.servers[0].claim(room, claim.clone()));
    for taken in futures::future::join_all(taken).await {
        taken.expect("taken");
    }
    deployment.servers[0].claim(room, claims[0].clone()).await.expect("the same again");
    // Nobody who knows both keys is told that the one has taken the other's invitation.
    for known in [&claims[0], &hosted.claim(&deployment, 30, 20).await] {
        let unsigned = Claim { key_signature: claims[1].key_signature, ..known.clone() };
        let refused = deployment.servers[0].claim(room, unsigned).await;
        assert_eq!(refused, Err(Refused::Signature.into()));
    }
    let second = hosted.claim(&deployment, 30, 20).await;
    let refused = deployment.servers[0].claim(room, second).await;
    assert!(
        matches!(&refused, Err(ServiceError::Conflict(text)) if text.contains("another device")),
        "{refused:?}"
    );
    deployment.until_status(2, room, |status| status.actions == 4).await;
    let page = deployment.servers[2].actions(room, 1).await.unwrap();
    page.actions.iter().for_each(|action| hosted.log.apply(action).unwrap());
    hosted.heard(&deployment).await;
    assert_eq!(hosted.log.length(), 4, "one entry for each");

    // Who claimed is a member also after a restart; the links' keys are not.
    deployment.stop(1).await;
    deployment.start_again(1).await;
    hosted.heard(&deployment).await;
    deployment.until_status(1, room, |status| collects(status, 0)).await;
    for home in 0..3u8 {
        deployment.present(room, usize::from(home), 10 + home).await.expect("present");
        assert!(matches!(
            deployment.present(room, usize::from(home), 30).await,
            Err(ServiceError::Forbidden(_))
        ));
    }
    deployment.issue(room, 0, 0, 10).await;
    a_links_key_is_given_nothing(&deployment, room).await;
    deployment.speak(room, 0).await;
    deployment.everywhere(room, 1).await;

    // Dismissing the invitation takes the device's key along.
    hosted.act(&deployment, Deed::Dismiss { keys: vec![links[0]] }).await;
    assert!(matches!(deployment.present(room, 1, 10).await, Err(ServiceError::Forbidden(_))));
    deployment.present(room, 1, 11).await.expect("the others stay");
}

/// Device 10 has taken link 30 and has a slot.
async fn a_links_key_is_given_nothing(deployment: &Deployment, room: RoomId) {
    for server in 0..3u8 {
        let name = IssueName { room, number: 0, party: PartyId(server) };
        let asked = deployment.servers[usize::from(server)]
            .issue(room, 0, issue_request(&name, &key(30)))
            .await;
        assert!(
            matches!(asked, Err(ServiceError::NotFound(_))),
            "the link's key has no slot: {asked:?}"
        );
        let mut of_taker = issue_request(&name, &key(10));
        of_taker.signature = issue_request(&name, &key(30)).signature;
        let forged = deployment.servers[usize::from(server)].issue(room, 0, of_taker).await;
        assert!(matches!(forged, Err(ServiceError::Forbidden(_))), "{forged:?}");
    }
    let name = IssueName { room, number: 0, party: PartyId(0) };
    let given = deployment.servers[0]
        .issue(room, 0, issue_request(&name, &key(10)))
        .await
        .expect("its own slot");
    assert!(
        envelope::open(&deployment.pinned().await, &name, &key(30), &given.issue).is_err(),
        "closed for the taker alone"
    );
}
