//! Taking an invitation.

use ostrakon_broadcast::hosting::Deed;
use ostrakon_client::Millis;
use ostrakon_client::host::{ClaimAction, ClaimNews, Claiming};
use ostrakon_crypto::Secret;

use crate::time::{InTime, Time};
use crate::world::{World, key, scene};

/// A device that takes an invitation, at the servers of a world.
pub struct Device {
    pub world: World,
    claiming: Claiming,
    time: Time<(u64, u16, String)>,
    pub news: Vec<ClaimNews>,
}

impl Device {
    /// Of the key of this seed, for the invitation of that one.
    pub fn new(world: World, invitation: u8, device: u8) -> Self {
        let seed = Secret::new([4; 32]);
        let claiming = Claiming::new(scene(), &key(invitation), &key(device), seed);
        Self { world, claiming, time: Time::new(), news: Vec::new() }
    }

    fn go_on(&mut self) {
        while let Some(action) = self.claiming.next_action() {
            match action {
                ClaimAction::Ask(request) => {
                    self.world.time.now = self.time.now;
                    let answer = self.world.serve(request.party.0, &request.call);
                    let sending = request.sending(self.claiming.room());
                    let (delay, status, text) = self.world.carry(sending, answer);
                    self.time.after(delay, (request.id, status, text));
                }
                ClaimAction::Tell(news) => self.news.push(news),
            }
        }
    }
}

impl InTime for Device {
    type Event = (u64, u16, String);

    fn time(&mut self) -> &mut Time<Self::Event> {
        &mut self.time
    }

    fn happen(&mut self, (id, status, body): Self::Event) {
        self.claiming.replied(self.time.now, id, status, body.as_bytes());
        self.go_on();
    }

    fn wake(&mut self) {
        self.claiming.wake(self.time.now);
        self.go_on();
    }

    fn wake_at(&self) -> Millis {
        self.claiming.wake_at()
    }
}

fn invited() -> World {
    let mut world = World::new();
    world.other(Deed::Invite { keys: vec![key(30).verifying_key()] });
    world
}

#[test]
fn an_invitation_is_taken_at_the_first_server_for_the_devices_own_key() {
    let mut device = Device::new(invited(), 30, 40);
    device.advance(500);
    assert_eq!(device.news, [ClaimNews::Taken]);
    assert!(device.world.truth().admits(&key(40).verifying_key()));
    assert!(!device.world.truth().admits(&key(30).verifying_key()));
    assert!(device.world.servers[1..].iter().all(|server| server.given.is_empty()));
}

#[test]
fn what_was_not_taken_is_told_and_claimed_again_after_a_while_with_the_same_bytes() {
    let mut device = Device::new(invited(), 30, 40);
    device.world.servers[0].says = Some(503);
    device.advance(1_000);
    assert!(matches!(&device.news[..], [ClaimNews::Refused(said)] if said.status == 503));
    device.world.servers[0].says = None;
    device.world.servers[0].misses = 1;
    device.advance(25_000);
    assert_eq!(device.news[1..], [ClaimNews::Away, ClaimNews::Taken]);
    let given = &device.world.servers[0].given;
    assert!(given.len() == 3 && given.iter().all(|one| *one == given[0]));

    let mut device = Device::new(device.world, 30, 41);
    device.advance(3_000);
    assert!(matches!(&device.news[..], [ClaimNews::Refused(said)] if said.status == 409));
}
