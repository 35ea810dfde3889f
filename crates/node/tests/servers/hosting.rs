//! Hosts at three servers: one order, and members only.

use ostrakon_broadcast::hosting::{Deed, HostLog, SignedAction};
use ostrakon_broadcast::room::{Admission, RoomId};
use ostrakon_node::ServiceError;
use ostrakon_node::interface::NewRoom;

use crate::common::{Deployment, collects, key};

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
        for server in 0..3 {
            deployment.until_status(server, self.room, |status| status.actions == self.log.length()).await;
        }
    }
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
    assert!(matches!(elsewhere, Err(ServiceError::Elsewhere(_))), "the first server puts actions into order");
    hosted.act(&deployment, admit).await;
    // Who was admitted, and to which epoch, is known again after a restart.
    deployment.stop(1).await;
    deployment.start_again(1).await;
    deployment.speak(room, 0).await;
    deployment.everywhere(room, 1).await;
    assert!(matches!(deployment.present(room, 1, 13).await, Err(ServiceError::Forbidden(_))));
    let page = deployment.servers[2].actions(room, 0).await.unwrap();
    let mut read =
        HostLog::new(&deployment.pinned().await, &deployment.servers[2].room(room).await.unwrap().descriptor);
    page.actions.iter().for_each(|action| read.apply(action).unwrap());
    assert_eq!(read, hosted.log);
}
