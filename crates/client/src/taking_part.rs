//! What a participant does in an epoch (`docs/spec/participant.md`, P2, P4, P5).

use ostrakon_mixing::envelope::{self, IssueName};
use ostrakon_mixing::submission::{NoSubmission, Submission};
use ostrakon_party::PartyId;

use crate::epoch::{Epoch, Stage};
use crate::machine::{Action, News, Participant};
use crate::pauses::Errand;
use crate::request::{Answer, Call, Kind};
use crate::time::Millis;

/// Whoever went on so shortly before an epoch began, after standing still, has nobody to blame for
/// having no slot in it.
const SETTLED: Millis = 5_000;

impl Participant {
    /// Turns to the epoch that collects now. A home that gave no slot in the one before is left.
    pub(crate) fn turn(&mut self) {
        let Some(number) = self.reports.collecting() else { return };
        if self.epoch.as_ref().is_some_and(|epoch| epoch.number >= number) {
            return;
        }
        self.asked.retain(|_, asked| !matches!(asked.kind, Kind::Issue | Kind::Submission));
        // Epochs that began meanwhile are heard of one after the other.
        let settled = self.returned.is_none_or(|at| self.now - at >= SETTLED);
        let expects_slot = settled && self.home().is_some();
        let servers = self.scene.servers.keys.len();
        let epoch = Epoch::new(number, servers, expects_slot, self.now);
        let before = self.epoch.replace(epoch);
        if let Some(before) = before.filter(|before| self.was_kept_out(before)) {
            self.tell(News::NoSlot { epoch: before.number });
            if self.home().is_some() {
                self.leave();
            }
        } else if let Some(home) = self.home() {
            self.tell(News::Waiting { home });
        }
    }

    /// Whether the home is to blame for it that nothing was handed in (P3.5).
    fn was_kept_out(&self, epoch: &Epoch) -> bool {
        epoch.expects_slot
            && matches!(epoch.stage, Stage::Gathering)
            && epoch.content.is_none()
            && self.author().agreed(&epoch.issues).is_err()
    }

    pub(crate) fn take_part(&mut self) {
        let Some(epoch) = &mut self.epoch else { return };
        epoch.go_on(self.now);
        let sealed = self.reports.seals(epoch.number);
        if epoch.is_ready(self.now, sealed) {
            self.try_submission();
        }
        self.run_errands();
    }

    /// Asks for what is missing: the home for a slot, and once that is there the others (P4.1); all
    /// servers to take the submission (P5.1).
    fn run_errands(&mut self) {
        let (now, home) = (self.now, self.home());
        let Some(epoch) = &mut self.epoch else { return };
        if matches!(epoch.stage, Stage::Nothing) {
            return;
        }
        let submission = match &epoch.stage {
            Stage::Made(submission) => Some(submission.clone()),
            _ => None,
        };
        let number = epoch.number;
        let all = submission.is_some() || epoch.is_placed();
        let mut parties = Vec::new();
        for (party, errand) in (0u8..).map(PartyId).zip(epoch.errands()) {
            if (all || home == Some(party)) && errand.due().is_some_and(|at| at <= now) {
                errand.asked();
                parties.push(party);
            }
        }
        for party in parties {
            let call = match &submission {
                Some(submission) => Call::submit(&self.key, number, submission.clone()),
                None => Call::issue(&self.key, &self.issue_name(number, party)),
            };
            self.ask(party, call, 0);
        }
    }

    fn issue_name(&self, number: u64, party: PartyId) -> IssueName {
        IssueName { room: self.scene.id, number, party }
    }

    /// Takes what a server gave, if it is genuine.
    pub(crate) fn issued(&mut self, party: PartyId, answer: Answer) {
        let Some(number) = self.epoch.as_ref().map(|epoch| epoch.number) else { return };
        let name = self.issue_name(number, party);
        let opened = match &answer {
            Answer::Issue(bytes) => {
                envelope::open(&self.scene.servers, &name, &self.key, bytes).ok()
            }
            _ => None,
        };
        let Some(epoch) = &mut self.epoch else { return };
        match (opened, answer) {
            (Some(issued), _) => {
                if epoch.take(party, issued) {
                    let sealed = self.reports.seals(number);
                    let left = sealed.unwrap_or(0).saturating_sub(self.now);
                    epoch.place(left, &mut self.draws);
                    self.tell(News::Placed { epoch: number });
                }
            }
            // It keeps what it gave before, if it is asked again.
            (None, Answer::Refused(409)) => epoch.issuing[party.index()].refused(),
            // "No slot yet", a server that is gone, or who pretends to be it: another answer may
            // come until the epoch is over.
            (None, _) => epoch.issuing[party.index()].again(self.now, &mut self.draws),
        }
    }

    /// Makes a submission of what the servers gave, once it is decided what goes in (P4.3).
    fn try_submission(&mut self) {
        let Some(epoch) = &self.epoch else { return };
        match self.author().agreed(&epoch.issues) {
            Ok(agreed) => {
                let context = agreed.context.clone();
                let decided = epoch.content.is_some();
                if let Some(epoch) = &mut self.epoch {
                    epoch.stage = Stage::Filling(agreed);
                }
                if decided {
                    self.make();
                } else {
                    self.actions.push_back(Action::Fill(context));
                }
            }
            Err(why) => {
                let given = epoch.issues.iter().flatten().count();
                if given >= self.scene.believed {
                    self.was_not_made(why);
                }
            }
        }
    }

    pub(crate) fn make(&mut self) {
        let Some(epoch) = &self.epoch else { return };
        let (Stage::Filling(agreed), Some(content)) = (&epoch.stage, &epoch.content) else {
            return;
        };
        match self.author().submission_of(agreed, content) {
            Ok(submission) => {
                self.asked.retain(|_, asked| asked.kind != Kind::Issue);
                if let Some(epoch) = &mut self.epoch {
                    epoch.stage = Stage::Made(submission);
                }
            }
            Err(why) => self.was_not_made(why),
        }
    }

    /// Servers that have not heard of the same assignments yet name different slots; they will
    /// agree (P4.4).
    fn was_not_made(&mut self, why: NoSubmission) {
        let Some(epoch) = &mut self.epoch else { return };
        epoch.stage = Stage::Gathering;
        epoch.ask_again(self.now, &mut self.draws);
        let epoch = epoch.number;
        self.tell(News::NotMade { epoch, why });
    }

    pub(crate) fn delivered(&mut self, party: PartyId, answer: &Answer) {
        let (now, believed) = (self.now, self.scene.believed);
        let Some(epoch) = &mut self.epoch else { return };
        let errand = &mut epoch.delivering[party.index()];
        match answer {
            Answer::Taken => errand.done(),
            // A refusal stands (P5.2).
            Answer::Refused(409 | 413 | 422) => errand.refused(),
            _ => errand.again(now, &mut self.draws),
        }
        let message = matches!(&epoch.stage, Stage::Made(Submission { message: true, .. }));
        let number = epoch.number;
        if epoch.is_handed_in(believed) {
            self.tell(News::HandedIn { epoch: number, message });
        }
    }

    pub(crate) fn epoch_times(&self) -> Vec<Option<Millis>> {
        let Some(epoch) = &self.epoch else { return Vec::new() };
        let (errands, all) = match &epoch.stage {
            Stage::Made(_) => (&epoch.delivering, true),
            Stage::Nothing => return Vec::new(),
            Stage::Gathering | Stage::Filling(_) | Stage::Later(_) => {
                (&epoch.issuing, epoch.is_placed())
            }
        };
        let asks = |(party, errand): (usize, &Errand)| {
            let may = all || self.home().is_some_and(|home| home.index() == party);
            errand.due().filter(|_| may)
        };
        let moment = epoch.moment(self.reports.seals(epoch.number));
        let ahead = moment.filter(|moment| *moment > self.now);
        let later = match epoch.stage {
            Stage::Later(until) => Some(until),
            _ => None,
        };
        errands.iter().enumerate().map(asks).chain([ahead, later]).collect()
    }
}
