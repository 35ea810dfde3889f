//! Taking an invitation (`docs/spec/hosting.md`, H5): the key in its link is good for entering a
//! key of the device's own, once, and for nothing else.

use std::collections::VecDeque;
use std::sync::Arc;

use ostrakon_broadcast::hosting::Claim;
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_mixing::RoomId;

use super::news::SCHEDULER;
use super::request::{Answer, Call, Kind, Request};
use crate::machine::Scene;
use crate::pauses::Draws;
use crate::refusal::Refusal;
use crate::time::{Clock, Millis};

/// Before it is claimed again, about.
const AGAIN: Millis = 4_000;
/// The machine is woken after so long at the latest.
const LONGEST_SLEEP: Millis = 60_000;

/// What a front end is to do.
#[derive(Debug, PartialEq)]
pub enum ClaimAction {
    /// Send this. What comes of it is told by [`Claiming::replied`].
    Ask(Request),
    /// Tell the user.
    Tell(ClaimNews),
}

/// What became of a claim. It is claimed again after a while: what counts is the host log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimNews {
    /// It is in the host log, by the first server's word.
    Taken,
    /// The first server refuses.
    Refused(Refusal),
    /// It does not answer.
    Away,
}

/// A device that takes an invitation. Its front end drives it until the host log has the claim, or
/// shows that the invitation is not to be had.
pub struct Claiming {
    scene: Arc<Scene>,
    claim: Claim,
    draws: Draws,
    clock: Clock,
    now: Millis,
    /// When it is to be claimed; nothing while it is not known what became of that.
    due: Option<Millis>,
    asked: u64,
    actions: VecDeque<ClaimAction>,
}

impl Claiming {
    /// Of an invitation, for a key of the device's own. `seed` is 32 fresh random bytes.
    pub fn new(scene: Arc<Scene>, invitation: &SigningKey, key: &SigningKey, seed: Secret) -> Self {
        let claim = Claim::sign(&scene.servers.digest(), &scene.id, invitation, key);
        let (clock, now, asked, actions) = Default::default();
        Self { scene, claim, draws: Draws::new(seed), clock, now, due: Some(0), asked, actions }
    }

    /// Time has passed. The first call begins.
    pub fn wake(&mut self, now: Millis) {
        self.now = self.clock.read(now);
        if self.due.is_some_and(|due| due <= self.now) {
            self.due = None;
            self.asked += 1;
            let call = Call::Claim(Box::new(self.claim.clone()));
            let request = Request { id: self.asked, party: SCHEDULER, call };
            self.actions.push_back(ClaimAction::Ask(request));
        }
    }

    /// The claim was answered with this HTTP status, or with none, which is 0.
    pub fn replied(&mut self, now: Millis, id: u64, status: u16, body: &[u8]) {
        self.answered(now, id, Answer::read(Kind::Claim, status, body));
    }

    /// What came of the claim.
    pub fn answered(&mut self, now: Millis, id: u64, answer: Answer) {
        if id != self.asked || self.due.is_some() {
            return;
        }
        self.now = self.clock.read(now);
        let varied = self.draws.between(AGAIN * 3 / 4, AGAIN * 5 / 4);
        self.due = Some(self.now + varied);
        self.actions.push_back(ClaimAction::Tell(match answer {
            Answer::Taken => ClaimNews::Taken,
            Answer::Refused(refusal) => ClaimNews::Refused(refusal),
            Answer::Actions(_) | Answer::Nothing => ClaimNews::Away,
        }));
    }

    /// The next thing to do.
    pub fn next_action(&mut self) -> Option<ClaimAction> {
        self.actions.pop_front()
    }

    /// When it is to be woken, by the device's clock.
    pub fn wake_at(&self) -> Millis {
        self.clock.outside(self.due.unwrap_or(self.now + LONGEST_SLEEP))
    }

    /// The room.
    pub fn room(&self) -> &RoomId {
        self.scene.id()
    }
}
