//! What happens to a participant, and when it is to be woken.

use ostrakon_party::PartyId;
use ostrakon_protocol::Status;

use crate::epoch::{Epoch, LATER, Stage};
use crate::machine::{Action, Filled, Participant};
use crate::request::{Answer, Kind};
use crate::time::Millis;

/// The machine is woken after so long at the latest.
const LONGEST_SLEEP: Millis = 60_000;

impl Participant {
    /// Time has passed. The first call begins.
    pub fn wake(&mut self, now: Millis) {
        self.at(now);
        self.step();
    }

    /// A server has said how the room stands, and when that came; or it does not answer.
    pub fn heard(&mut self, now: Millis, party: PartyId, status: Option<(&Status, Millis)>) {
        self.at(now);
        let age = status.map_or(0, |(_, came)| now.saturating_sub(came));
        let (came, status) = (self.now.saturating_sub(age), status.map(|(status, _)| status));
        self.reports.hear(&self.scene.room, came, party, status);
        self.step();
    }

    /// A request was answered with this HTTP status, or with none, which is 0.
    pub fn replied(&mut self, now: Millis, id: u64, status: u16, body: &[u8]) {
        if let Some(kind) = self.asked.get(&id).map(|asked| asked.kind) {
            self.answered(now, id, Answer::read(kind, status, body));
        }
    }

    /// What came of a request.
    pub fn answered(&mut self, now: Millis, id: u64, answer: Answer) {
        // What is not waited for any more counts for nothing.
        let Some(asked) = self.asked.remove(&id) else { return };
        self.at(now);
        match asked.kind {
            Kind::Status => self.counted(&asked, &answer),
            Kind::Presence => self.greeted(asked.party, matches!(answer, Answer::Present)),
            Kind::Issue => self.issued(asked.party, answer),
            Kind::Submission => self.delivered(asked.party, &answer),
            Kind::Board | Kind::Actions => {}
        }
        self.step();
    }

    /// What goes into an epoch is decided and written down, as [`Action::Fill`] asked for.
    pub fn filled(&mut self, now: Millis, number: u64, filled: Filled) {
        self.at(now);
        let filling =
            |epoch: &&mut Epoch| epoch.number == number && matches!(epoch.stage, Stage::Filling(_));
        if let Some(epoch) = self.epoch.as_mut().filter(filling) {
            epoch.stage = match filled {
                Filled::Row(content) => {
                    epoch.content = Some(content);
                    std::mem::replace(&mut epoch.stage, Stage::Gathering)
                }
                Filled::Nothing => Stage::Nothing,
                Filled::Later => Stage::Later(self.now + LATER),
            };
            self.make();
        }
        self.step();
    }

    /// The next thing to do.
    pub fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When it is to be woken, by the device's clock.
    pub fn wake_at(&self) -> Millis {
        let latest = self.now + LONGEST_SLEEP;
        let times = self.standing_times().into_iter().chain(self.epoch_times());
        self.clock.outside(times.flatten().fold(latest, Millis::min))
    }

    /// Does what time and the servers' words call for.
    fn step(&mut self) {
        if self.standing.is_none() {
            self.begin();
        }
        self.notice_standstill();
        self.turn();
        self.make_room();
        self.stand();
        self.look_around();
        self.take_part();
    }
}
