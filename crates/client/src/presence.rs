//! Where a participant is present (`docs/spec/participant.md`, P3).

use ostrakon_party::PartyId;

use crate::epoch::Epoch;
use crate::home::{
    Count, FORGOTTEN, MISSED, NOBODY, PRESENCE_AGAIN, Present, SPREAD, Standing, Why, choose_home,
    is_crowded, longest_wait, without,
};
use crate::machine::{Asked, News, Participant};
use crate::request::{Answer, Call, Kind, STATUS_PATIENCE};
use crate::time::Millis;

impl Participant {
    pub(crate) fn begin(&mut self) {
        match self.before {
            Some(home) => self.greet(home),
            None => self.look(),
        }
    }

    /// Looks for a home, after a drawn time (P3.1).
    fn look(&mut self) {
        let spread = self.draws.between(0, SPREAD);
        self.standing = Some(Standing::Looking(self.now + spread));
        self.tell(News::Looking);
    }

    /// Leaves its home for another one.
    pub(crate) fn leave(&mut self) {
        self.left = self.home();
        self.look();
    }

    /// Time went on without it: the home has forgotten the participant and could not serve it. It
    /// is a newcomer there; going elsewhere at once, it would be counted twice (P3.7).
    pub(crate) fn notice_standstill(&mut self) {
        let now = self.now;
        let Some(Standing::Present(present)) = &self.standing else { return };
        if now < present.greeted + FORGOTTEN {
            return;
        }
        let home = present.home;
        self.returned = Some(now);
        if let Some(epoch) = &mut self.epoch {
            epoch.arrive(now);
            epoch.expects_slot = false;
        }
        self.greet(home);
    }

    /// After an epoch with too few: every second one of those at a server that is too full looks
    /// for another one (P3.6).
    pub(crate) fn make_room(&mut self) {
        let Some(home) = self.home() else { return };
        let failed = self.reports.too_few(home).filter(|failed| self.failed < Some(*failed));
        if failed.is_none() {
            return;
        }
        self.failed = failed;
        if self.draws.number().is_multiple_of(2) {
            self.count_at_home(Why::TooFew);
        }
    }

    /// Asks whether there are fewer elsewhere.
    fn count_at_home(&mut self, why: Why) {
        let count = self.count();
        if let Some(Standing::Present(present)) = &mut self.standing {
            present.count = Some((why, count));
        }
    }

    pub(crate) fn stand(&mut self) {
        let now = self.now;
        match &mut self.standing {
            Some(Standing::Looking(at)) if *at <= now => {
                let count = self.count();
                self.standing = Some(Standing::Choosing(count));
            }
            Some(Standing::Choosing(count)) if count.is_over(now) => self.choose(),
            Some(Standing::Present(present)) if present.next.is_some_and(|next| next <= now) => {
                present.next = None;
                let home = present.home;
                self.say_presence(home);
            }
            _ => {}
        }
    }

    /// Asks all servers how many there are.
    fn count(&mut self) -> Count {
        let number = self.next;
        for party in self.scene.parties() {
            self.ask(party, Call::Status, number);
        }
        let servers = self.scene.servers.keys.len();
        let until = self.now + STATUS_PATIENCE;
        Count { number, until, counts: vec![None; servers], open: servers }
    }

    pub(crate) fn counted(&mut self, asked: &Asked, answer: &Answer) {
        let place = asked.party.index();
        let said = match answer {
            Answer::Status(status) => {
                self.reports.hear(&self.scene.room, self.now, asked.party, Some(status));
                status.places.get(place).copied()
            }
            _ => None,
        };
        let count = match &mut self.standing {
            Some(Standing::Choosing(count)) => Some(count),
            Some(Standing::Present(present)) => present.count.as_mut().map(|(_, count)| count),
            _ => None,
        };
        if let Some(count) = count.filter(|count| count.number == asked.count) {
            count.counts[place] = said;
            count.open -= 1;
        }
    }

    /// Chooses the server with fewest, of those that answered (P3.2).
    fn choose(&mut self) {
        let Some(Standing::Choosing(count)) = &self.standing else { return };
        let nowhere = Default::default();
        let shunned = self.epoch.as_ref().map_or(&nowhere, |epoch| &epoch.shunned);
        let counts = without(&count.counts, shunned);
        match choose_home(&counts, self.left, self.draws.number()) {
            Some(home) => self.greet(home),
            None => self.standing = Some(Standing::Looking(self.now + NOBODY)),
        }
    }

    fn greet(&mut self, home: PartyId) {
        self.standing = Some(Standing::Greeting);
        self.say_presence(home);
    }

    fn say_presence(&mut self, home: PartyId) {
        // An answer to an earlier one says nothing of this one.
        self.asked.retain(|_, asked| asked.kind != Kind::Presence);
        let time = self.unix / 1_000;
        self.ask(home, Call::presence(&self.key, &self.scene.id, time, home), 0);
    }

    pub(crate) fn greeted(&mut self, party: PartyId, welcome: bool) {
        let now = self.now;
        match &mut self.standing {
            Some(Standing::Greeting) if welcome => {
                self.standing = Some(Standing::Present(Present::new(party, now)));
                if let Some(epoch) = &mut self.epoch {
                    epoch.arrive(now);
                }
                self.tell(News::Waiting { home: party });
            }
            Some(Standing::Greeting) => {
                self.left = Some(party);
                self.standing = Some(Standing::Looking(now + NOBODY));
            }
            Some(Standing::Present(present)) if welcome => {
                let count = present.count.take();
                *present = Present { count, ..Present::new(party, now) };
            }
            Some(Standing::Present(present)) => {
                present.missed += 1;
                present.next = Some(now + PRESENCE_AGAIN);
                if present.missed >= MISSED {
                    self.leave();
                }
            }
            _ => {}
        }
    }

    /// Without a slot at a server that has more participants than another one, or for too long: it
    /// is time to look for another home (P3.3, P3.4). Servers give out their slots evenly.
    pub(crate) fn look_around(&mut self) {
        let (now, longest) = (self.now, self.longest_wait());
        let Some(Standing::Present(present)) = &mut self.standing else { return };
        let Some(epoch) = self.epoch.as_mut() else { return };
        let waits = epoch.has_no_slot();
        // One server alone keeps nobody out, by what it says of the numbers or of a slot.
        if epoch.contradicted_at().is_some_and(|at| at <= now)
            || waits && now >= epoch.since + longest
        {
            epoch.was_contradicted(now);
            epoch.shunned.insert(present.home);
            return self.leave();
        }
        match present.count.take_if(|(_, count)| count.is_over(now)) {
            Some((why, count)) => {
                let still = waits || why == Why::TooFew;
                if still && is_crowded(&count.counts, present.home) {
                    self.leave();
                }
            }
            None if waits
                && present.count.is_none()
                && epoch.looks_at().is_some_and(|at| at <= now) =>
            {
                epoch.looked(now);
                self.count_at_home(Why::NoSlot);
            }
            None => {}
        }
    }

    fn longest_wait(&self) -> Millis {
        longest_wait(self.scene.room.seconds)
    }

    pub(crate) fn standing_times(&self) -> Vec<Option<Millis>> {
        match &self.standing {
            Some(Standing::Looking(at)) => vec![Some(*at)],
            Some(Standing::Choosing(count)) => vec![Some(count.until)],
            Some(Standing::Present(present)) => {
                let counting = present.count.as_ref().map(|(_, count)| count.until);
                let epoch = self.epoch.as_ref();
                let waits = epoch.filter(|epoch| epoch.has_no_slot());
                let starves = waits.map(|epoch| epoch.since + self.longest_wait());
                let looks = waits.and_then(Epoch::looks_at).filter(|_| counting.is_none());
                let contradicted = epoch.and_then(Epoch::contradicted_at);
                vec![present.next, counting, starves, looks, contradicted]
            }
            Some(Standing::Greeting) | None => Vec::new(),
        }
    }
}
