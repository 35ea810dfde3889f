//! A participant: what its device keeps, and what it does with it, by the code that real
//! participants run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use ostrakon_broadcast::client::{
    BoardReader, choose_home, is_crowded, longest_wait, presence_digest, without,
};
use ostrakon_broadcast::envelope::{self, Exchange, IssueName, Issued, agreed};
use ostrakon_broadcast::hosting::{Answer, Claim, HostLog};
use ostrakon_broadcast::outbox::{Observed, Outbox};
use ostrakon_broadcast::submission::{Author, Submission};
use ostrakon_broadcast::{ClientEngine, Content, Entry, RoomDescriptor, RoomId, Servers};
use ostrakon_crypto::SigningKey;
use ostrakon_party::{PartyId, Trust};
use ostrakon_protocol::ServiceError;
use ostrakon_protocol::{IssueRequest, Outcome, Presence, Status, SubmissionRequest};

use crate::closing::letters::Letters;
use crate::deployment::Deployment;
use crate::engine::trust;
use crate::executor::Executor;
use crate::host::{SCHEDULER, spoil_actions};
use crate::line::Line;
use crate::malice::{spoil_entries, spoil_issued, spoil_status};

/// How long the third server may keep the others' material waiting.
const THIRD_SERVER_US: u64 = 1_500_000;
/// How long a participant waits for a slot before it looks whether there are fewer elsewhere.
const NO_SLOT_US: u64 = 500_000;
const PRESENCE_EVERY_US: u64 = 10_000_000;

/// What the device keeps over a reload of the page.
pub struct Device {
    pub key: SigningKey,
    pub outbox: Outbox,
    /// What its user still wants to say.
    pub wishes: Vec<String>,
    /// Whether its page is open.
    pub open: bool,
    /// Grows when the page is loaded anew, which forgets everything else.
    pub loads: u64,
    /// What it handed in, for those who send it again.
    pub said: Vec<(RoomId, u64, SubmissionRequest)>,
    /// Whether it hands in two different things for each of its slots.
    pub cheats: bool,
    /// The key of the invitation in its link.
    pub invitation: Option<SigningKey>,
    /// Polls that it was asked.
    asked: BTreeSet<u64>,
    /// What all servers took, by epoch.
    taken: BTreeMap<u64, Vec<u8>>,
    /// What it will not say again, since it may be among the erased.
    pub given_up: BTreeSet<String>,
    /// Of one that exchanges messages with somebody: it has a row of its own for every epoch.
    pub letters: Option<Letters>,
}

impl Device {
    pub fn new(key: SigningKey, cheats: bool, invitation: Option<SigningKey>) -> Self {
        let (outbox, wishes, said, asked, taken, given_up, letters) = Default::default();
        Self {
            key,
            outbox,
            wishes,
            open: true,
            loads: 0,
            said,
            cheats,
            invitation,
            asked,
            taken,
            given_up,
            letters,
        }
    }
}

/// A participant of one room.
#[derive(Clone)]
pub struct Participant {
    pub line: Line,
    pub device: Arc<Mutex<Device>>,
    pub room: Arc<RoomDescriptor>,
    pub servers: Arc<Servers>,
    pub engine: &'static (dyn ClientEngine + Send + Sync),
    /// Whether no server turns hostile in this run.
    pub honest: bool,
    /// Whether it hands in as late as pages do, so that what is written meanwhile comes along.
    pub late: bool,
}

#[derive(Default)]
struct Work {
    epoch: u64,
    since: u64,
    /// How long before the sealing it hands in, in milliseconds.
    margin: Option<u64>,
    issues: Vec<Option<Issued>>,
    submission: Option<Submission>,
    /// What a cheater hands in for the same slot.
    second: Option<Submission>,
    accepted: Vec<bool>,
}

/// What a page knows, from its loading on.
struct Page {
    board: BoardReader,
    log: HostLog,
    statuses: Vec<Option<Status>>,
    home: Option<PartyId>,
    /// Since when it is there, and where it has waited in vain for a slot of the epoch.
    since: u64,
    shunned: BTreeSet<PartyId>,
    present_until: u64,
    displaced: bool,
    failed: Option<u64>,
    work: Option<Work>,
}

impl Participant {
    fn executor(&self) -> &Executor {
        self.line.executor()
    }

    fn deployment(&self) -> &Deployment {
        &self.line.deployment
    }

    /// Takes part for ever, whenever the page is open.
    pub async fn take_part(self) {
        let mut page = self.load();
        let mut loads = 0;
        loop {
            let (open, current) = {
                let device = self.device.lock().unwrap();
                (device.open, device.loads)
            };
            if current != loads {
                (page, loads) = (self.load(), current);
            }
            if open {
                self.turn(&mut page).await;
            }
            self.line.pause(100, 400).await;
        }
    }

    fn trust(&self) -> Trust {
        trust(self.servers.keys.len())
    }

    fn load(&self) -> Page {
        let board = BoardReader::new((*self.servers).clone(), (*self.room).clone());
        let board = board.under(self.trust());
        let log = HostLog::new(&self.servers, &self.room);
        let statuses = self.deployment().parties().map(|_| None).collect();
        Page {
            board,
            log,
            statuses,
            home: None,
            since: 0,
            shunned: BTreeSet::new(),
            present_until: 0,
            displaced: false,
            failed: None,
            work: None,
        }
    }

    async fn turn(&self, page: &mut Page) {
        for party in self.deployment().parties() {
            let room = self.room.id();
            let status = self.line.ask(party, "status", 0, |server| {
                async move { server.status(room, 0, Duration::ZERO).await }.boxed()
            });
            let status = status.await.and_then(Result::ok);
            page.statuses[party.index()] =
                status.map(|status| self.deployment().spoil(party, status, spoil_status));
        }
        self.read_board(page).await;
        self.read_log(page).await;
        let admitted = page.log.admits(&self.device.lock().unwrap().key.verifying_key());
        if !admitted {
            self.claim(page).await;
            return;
        }
        self.answer(page);
        self.wish();
        self.make_room(page);
        self.go_where_there_are_fewer(page);
        if page.displaced || page.present_until <= self.executor().now() {
            self.be_present(page).await;
        }
        self.work(page).await;
    }

    /// Puts the next message into the outbox, once there is room.
    fn wish(&self) {
        let mut device = self.device.lock().unwrap();
        if device.outbox.message().is_none()
            && let Some(text) = device.wishes.first().cloned()
            && device.outbox.put(text.into_bytes()).is_ok()
        {
            device.wishes.remove(0);
        }
    }

    async fn read_board(&self, page: &mut Page) {
        let (room, from) = (self.room.id(), page.board.length());
        let longest = page
            .statuses
            .iter()
            .enumerate()
            .max_by_key(|(_, status)| status.as_ref().map(|s| s.board_length));
        let Some((party, Some(status))) = longest else { return };
        if status.board_length <= from as u64 {
            return;
        }
        let answer = self.line.ask(PartyId(party as u8), "board", from as u64, |server| {
            async move { server.board(room, from as u64, Duration::ZERO).await }.boxed()
        });
        let answer = answer.await;
        self.deployment().expect_no_damage(PartyId(party as u8), &answer);
        let Some(Ok(answer)) = answer else { return };
        let entries = self.deployment().spoil(PartyId(party as u8), answer.entries, spoil_entries);
        let read = page.board.read(&entries);
        assert!(
            read.is_ok() || self.deployment().is_hostile(PartyId(party as u8)),
            "an honest server's board is proven"
        );
        if read.is_err() {
            return;
        }
        for signed in &entries {
            self.observe(&signed.entry);
        }
    }

    /// Learns from an entry. What all servers took is in it, or was erased.
    fn observe(&self, entry: &Entry) {
        let mut device = self.device.lock().unwrap();
        let holds = |body: &[u8]| entry.bodies().any(|text| text == body);
        let erased = entry.messages.iter().any(|message| message.body().is_none());
        if let Some(letters) = &mut device.letters {
            letters.read(entry);
        }
        let taken = device.taken.remove(&entry.epoch.number);
        let there = taken.is_none_or(|body| holds(&body));
        assert!(
            there || erased || !self.honest,
            "what all servers took for an epoch is not published"
        );
        let message = device.outbox.message().map(<[u8]>::to_vec);
        if device.outbox.observe(entry) == Observed::Published {
            let text = message.expect("it was published");
            if !holds(&text) {
                device.given_up.insert(String::from_utf8(text).expect("a text"));
            }
        }
    }

    /// After an epoch with too few: every second one of those at a server that is too full looks
    /// for another one.
    fn make_room(&self, page: &mut Page) {
        let Some(home) = page.home else { return };
        let last = page.statuses[home.index()].as_ref().and_then(|status| status.last.as_ref());
        let Some(last) =
            last.filter(|last| last.outcome == Outcome::TooFew && page.failed < Some(last.number))
        else {
            return;
        };
        page.failed = Some(last.number);
        page.displaced |=
            is_crowded(&places(page), home) && self.executor().draw(|random| random.chance(50));
    }

    /// Without a slot for a while at a server that has more participants than another one.
    fn go_where_there_are_fewer(&self, page: &mut Page) {
        let (Some(home), Some(work)) = (page.home, &page.work) else { return };
        let late = self.executor().now() > work.since + NO_SLOT_US;
        let empty = work.submission.is_none() && work.issues.iter().all(Option::is_none);
        let waited = self.executor().now().saturating_sub(page.since.max(work.since));
        let starved = empty && u128::from(waited) >= longest_wait(self.room.seconds).as_micros();
        page.displaced |= starved || (late && empty && is_crowded(&places(page), home));
        if starved {
            page.shunned.insert(home);
        }
    }

    async fn be_present(&self, page: &mut Page) {
        let draw = self.executor().draw(|random| random.next() as u32);
        let home = page
            .home
            .filter(|_| !page.displaced)
            .or_else(|| choose_home(&without(&places(page), &page.shunned), page.home, draw));
        let Some(home) = home else { return };
        let time = self.executor().now_ms() / 1000;
        let presence = {
            let device = self.device.lock().unwrap();
            let signature = device.key.sign(&presence_digest(&self.room.id(), time, home));
            Presence { key: device.key.verifying_key(), time, signature }
        };
        let room = self.room.id();
        if self.device.lock().unwrap().cheats {
            self.be_present_elsewhere(home, time).await;
        }
        let answer = self.line.ask(home, "presence", 0, |server| {
            async move { server.presence(room, presence).await }.boxed()
        });
        let welcome = matches!(answer.await, Some(Ok(_)));
        if page.home != Some(home) {
            page.since = self.executor().now();
        }
        page.home = Some(home);
        page.displaced = !welcome;
        page.present_until =
            self.executor().now() + if welcome { PRESENCE_EVERY_US } else { 1_000_000 };
    }

    /// A cheater is present everywhere, for a slot of each server.
    async fn be_present_elsewhere(&self, home: PartyId, time: u64) {
        let room = self.room.id();
        for party in self.deployment().parties().filter(|party| *party != home) {
            let presence = {
                let key = &self.device.lock().unwrap().key;
                let signature = key.sign(&presence_digest(&room, time, party));
                Presence { key: key.verifying_key(), time, signature }
            };
            let answer = self.line.ask(party, "presence", 0, |server| {
                async move { server.presence(room, presence).await }.boxed()
            });
            drop(answer.await);
        }
    }

    /// Does what is to be done for the epoch that as many servers as are believed say collects.
    async fn work(&self, page: &mut Page) {
        let contexts =
            || page.statuses.iter().flatten().filter_map(|status| status.context.as_ref());
        let believed = self.trust().believed();
        let alike = |context: &&_| contexts().filter(|other| other == context).count() >= believed;
        let Some(epoch) = contexts().filter(alike).map(|context| context.epoch.number).max() else {
            return;
        };
        if page.work.as_ref().is_none_or(|work| work.epoch < epoch) {
            let before = page.work.take();
            page.displaced |= before.is_some_and(|work| work.submission.is_none());
            page.shunned.clear();
            let (since, issues) = (self.executor().now(), vec![None; self.servers.keys.len()]);
            let accepted = vec![false; self.servers.keys.len()];
            page.work = Some(Work { epoch, since, issues, accepted, ..Work::default() });
        }
        let Some(work) = page.work.as_mut().filter(|work| work.epoch == epoch) else { return };
        if work.submission.is_none() {
            self.collect_issues(work).await;
            if self.late && self.is_too_early(work, &page.statuses) {
                return;
            }
            self.make_submission(work);
        }
        self.deliver(work).await;
    }

    /// Whether a page would still wait with what it hands in: the moment is drawn when it has a
    /// place, as a share of the time that is left.
    fn is_too_early(&self, work: &mut Work, statuses: &[Option<Status>]) -> bool {
        if work.issues.iter().flatten().count() < self.trust().believed() {
            return true;
        }
        let epochs = statuses.iter().flatten().filter_map(|status| status.epoch.as_ref());
        let mut left: Vec<u64> = epochs
            .filter(|epoch| epoch.number == work.epoch)
            .filter_map(|epoch| epoch.closes_in_ms)
            .collect();
        left.sort_unstable();
        // The middle one of three, the later one of two.
        let Some(left) = left.get(left.len() / 2).copied() else { return false };
        let share = self.executor().draw(|random| random.within(20, 40));
        let margin = *work.margin.get_or_insert((left * share / 100).clamp(1_500, 60_000));
        left > margin
    }

    async fn collect_issues(&self, work: &mut Work) {
        let number = work.epoch;
        for party in self
            .deployment()
            .parties()
            .filter(|party| work.issues[party.index()].is_none())
            .collect::<Vec<_>>()
        {
            let name = IssueName { room: self.room.id(), number, party };
            let request = {
                let key = &self.device.lock().unwrap().key;
                let exchange = Exchange::new(key, &name).public();
                let signature = key.sign(&envelope::request_digest(&name, &exchange));
                IssueRequest { key: key.verifying_key(), exchange, signature }
            };
            let answer = self.line.ask(party, "issue", number, |server| {
                async move { server.issue(name.room, number, request).await }.boxed()
            });
            if let Some(Ok(issue)) = answer.await {
                let key = &self.device.lock().unwrap().key;
                let opened = envelope::open(&self.servers, &name, key, &issue.issue);
                let issued = opened.expect("a server makes what it gives itself");
                work.issues[party.index()] =
                    Some(self.deployment().spoil(party, issued, spoil_issued));
            }
        }
    }

    fn make_submission(&self, work: &mut Work) {
        let patient = self.executor().now() < work.since + THIRD_SERVER_US;
        let missing = work.issues.iter().filter(|issue| issue.is_none()).count();
        if missing > 1 || (missing == 1 && patient) {
            return;
        }
        let mut device = self.device.lock().unwrap();
        let Device { key, outbox, said, cheats, letters, .. } = &mut *device;
        if letters.as_mut().is_some_and(|letters| !letters.fill(outbox, work.epoch)) {
            return;
        }
        let author = Author { engine: self.engine, servers: &self.servers, room: &self.room, key };
        match author.submission(&work.issues, outbox) {
            Ok(Some(submission)) => {
                let context = agreed(&work.issues).expect("a submission was made of it").context;
                if *cheats {
                    work.submission = Some(other_submission(&author, work, "a"));
                    work.second = Some(other_submission(&author, work, "b"));
                    return;
                }
                self.deployment().ledger.submits(context.batch, submission.slot, &submission.body);
                let Submission { slot, body, .. } = submission.clone();
                said.push((
                    self.room.id(),
                    work.epoch,
                    SubmissionRequest { key: key.verifying_key(), slot, body },
                ));
                work.submission = Some(submission);
            }
            Ok(None) => {}
            Err(_) => work.issues = vec![None; self.servers.keys.len()],
        }
    }

    async fn deliver(&self, work: &mut Work) {
        if let (Some(first), Some(second)) = (work.submission.clone(), work.second.take()) {
            self.deliver_both(work.epoch, [first, second]).await;
            // Perhaps it is given another slot yet.
            (work.submission, work.issues) = (None, vec![None; self.servers.keys.len()]);
            return;
        }
        let Some(Submission { slot, body, .. }) = work.submission.clone() else { return };
        let key = self.device.lock().unwrap().key.verifying_key();
        let (room, epoch) = (self.room.id(), work.epoch);
        let parties = self.deployment().parties();
        for party in parties.filter(|party| !work.accepted[party.index()]).collect::<Vec<_>>() {
            if self.deployment().forgets(party) {
                work.accepted[party.index()] = true;
                continue;
            }
            let request = SubmissionRequest { key, slot, body: body.clone() };
            let length = body.len() as u64;
            let answer = self.line.ask(party, "submit", length, |server| {
                async move { server.submit(room, epoch, request).await }.boxed()
            });
            match answer.await {
                Some(Ok(_)) => work.accepted[party.index()] = true,
                Some(Err(ServiceError::Refused(reason))) => {
                    panic!("an honest submission is refused: {reason}")
                }
                // The epoch is over, or it cannot be taken now.
                _ => {}
            }
        }
        if work.accepted.iter().all(|accepted| *accepted) {
            let mut device = self.device.lock().unwrap();
            if let Some(Content::Message(body)) = device.outbox.content(epoch) {
                device.taken.insert(epoch, body);
            }
        }
    }

    /// Hands both to every server, in any order: none takes both.
    async fn deliver_both(&self, epoch: u64, mut both: [Submission; 2]) {
        let (room, key) = (self.room.id(), self.device.lock().unwrap().key.verifying_key());
        for party in self.deployment().parties() {
            if self.executor().draw(|random| random.chance(50)) {
                both.reverse();
            }
            let asks = both.clone().map(|Submission { slot, body, .. }| {
                let (request, length) =
                    (SubmissionRequest { key, slot, body: body.clone() }, body.len() as u64);
                self.line.ask(party, "submit", length, |server| {
                    async move { server.submit(room, epoch, request).await }.boxed()
                })
            });
            let answers = futures::future::join_all(asks).await;
            let taken = answers.iter().filter(|answer| matches!(answer, Some(Ok(_)))).count();
            assert!(taken <= 1, "{party} takes two submissions for one slot");
        }
    }
}

impl Participant {
    /// Reads what the hosts did, from the server that says it has most of it.
    async fn read_log(&self, page: &mut Page) {
        let (room, from) = (self.room.id(), page.log.length());
        let most = page
            .statuses
            .iter()
            .enumerate()
            .max_by_key(|(_, status)| status.as_ref().map(|s| s.actions));
        let Some((party, Some(status))) = most else { return };
        if status.actions <= from {
            return;
        }
        let party = PartyId(party as u8);
        let answer = self.line.ask(party, "actions", from, |server| {
            async move { server.actions(room, from).await }.boxed()
        });
        let Some(Ok(answer)) = answer.await else { return };
        for action in self.deployment().spoil(party, answer.actions, spoil_actions) {
            let applied = page.log.apply(&action);
            assert!(
                applied.is_ok() || self.deployment().is_hostile(party),
                "an honest server's host log is proven"
            );
            if applied.is_err() {
                return;
            }
        }
    }

    /// Takes the invitation of its link, once the host has made it and while nobody has taken it.
    async fn claim(&self, page: &Page) {
        let claim = {
            let device = self.device.lock().unwrap();
            let Some(invitation) = &device.invitation else { return };
            let known = page.log.invitations().get(&invitation.verifying_key());
            if known.is_none_or(|known| known.claimed.is_some()) {
                return;
            }
            Claim::sign(&self.servers.digest(), &self.room.id(), invitation, &device.key)
        };
        let (room, sent) = (self.room.id(), claim.clone());
        let answer = self.line.ask(SCHEDULER, "claim", 0, |server| {
            async move { server.claim(room, sent).await }.boxed()
        });
        if let Some(Ok(_)) = answer.await {
            self.deployment().ledger.takes_claim(claim.invitation, claim.key);
        }
    }

    /// Answers polls, most of them, each with the option that is this participant's.
    fn answer(&self, page: &Page) {
        let mut device = self.device.lock().unwrap();
        if device.cheats {
            return;
        }
        for (id, state) in page.log.polls() {
            let option = u8::try_from(self.line.number).expect("polls are asked of few");
            if state.withdrawn {
                device.outbox.withdraw(*id);
            } else if device.asked.insert(*id) && self.executor().draw(|random| random.chance(80)) {
                let body = Answer::Choice([option].into())
                    .encode(*id, &state.poll)
                    .expect("there is such an option");
                if device.outbox.answer(*id, state.poll.epoch, body).is_ok() {
                    self.deployment().ledger.answers(*id, option);
                }
            }
        }
    }
}

/// What a cheater makes of the same issues as the submission before: one that says so, and says
/// which it is.
fn other_submission(author: &Author<'_>, work: &Work, which: &str) -> Submission {
    let mut outbox = Outbox::default();
    let text = format!(
        "cheat {} {} {which}",
        author.key.verifying_key().to_hex().split_at(8).0,
        work.epoch
    );
    outbox.put(text.into_bytes()).expect("it is empty");
    author.submission(&work.issues, &mut outbox).expect("as before").expect("as before")
}

/// How many places each server gave out, and how many wait for one there.
fn places(page: &Page) -> Vec<Option<u32>> {
    let count =
        |(party, status): (usize, &Option<Status>)| status.as_ref()?.places.get(party).copied();
    page.statuses.iter().enumerate().map(count).collect()
}
