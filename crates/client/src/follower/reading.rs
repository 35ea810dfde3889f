//! The state machine: statuses, the hosts' actions, the board.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ostrakon_broadcast::SignedEntry;
use ostrakon_broadcast::board::Published;
use ostrakon_broadcast::hosting::{HostLog, MessageId, SignedAction};
use ostrakon_broadcast::reader::BoardReader;
use ostrakon_crypto::Secret;
use ostrakon_mixing::RoomId;
use ostrakon_mixing::room::Admission;
use ostrakon_party::PartyId;
use ostrakon_protocol::Status;

use super::look::{Known, Look, Next, Shown};
use super::place::{Found, Search, is_behind};
use super::words::{self, Word};
use crate::machine::Scene;
use crate::pauses::Draws;
use crate::reports::Reports;
use crate::request::{Answer, Call, Kind, Request};
use crate::time::{Clock, Millis};

/// The machine is woken after so long at the latest.
const LONGEST_SLEEP: Millis = 60_000;

/// What a front end is to do, or to know.
#[derive(Debug)]
pub enum Sight {
    /// Send this. What comes of it is told by [`Follower::answered`].
    Ask(Request),
    /// A server has said how the room stands ([`Follower::status`]), or does not answer.
    Heard {
        /// The server.
        party: PartyId,
        /// Whether that is news to a participant, more than how many there are.
        news: bool,
    },
    /// The hosts have done this; it is verified.
    Actions {
        /// The number of the first action.
        from: u64,
        /// The actions.
        actions: Vec<SignedAction>,
    },
    /// These follow on the board; they are verified.
    Entries {
        /// The index of the first entry.
        from: u64,
        /// The entries.
        entries: Vec<SignedEntry>,
    },
    /// A server has shown something that does not verify. It is not asked for more of it.
    Forged {
        /// The server.
        party: PartyId,
        /// What is wrong with it.
        why: String,
    },
    /// The hosts' actions are read, as far as they go.
    Informed,
    /// The board is read, as far as it goes.
    CaughtUp,
}

/// Follows a room (`docs/spec/follower.md`).
pub struct Follower {
    scene: Arc<Scene>,
    draws: Draws,
    clock: Clock,
    now: Millis,
    reports: Reports,
    words: Vec<Word>,
    log: HostLog,
    board: BoardReader,
    actions: Look<SignedAction>,
    entries: Look<SignedEntry>,
    informed: bool,
    caught_up: bool,
    /// In a room for messages, from how many entries before the end on its board is read.
    back: Option<u64>,
    /// The search for that place, until it is found.
    search: Option<Search>,
    asked: BTreeMap<u64, (PartyId, Kind)>,
    next: u64,
    sights: VecDeque<Sight>,
}

impl Follower {
    /// Of a room of which nothing is read. `seed` is 32 fresh random bytes. In a room for messages
    /// the board is read from `back` entries before its end on.
    pub fn new(scene: Arc<Scene>, seed: Secret, back: u64) -> Self {
        let servers = scene.servers.keys.len();
        let (log, board) = (HostLog::new(&scene.servers, &scene.room), scene.board());
        let (reports, words) = (scene.reports(), scene.parties().map(|_| Word::new()).collect());
        let back = (scene.room.admission == Admission::Messages).then_some(back);
        let search = back.map(Search::new);
        let (clock, now, informed, caught_up, asked, next, sights) = Default::default();
        let (actions, entries) = (Look::new(servers), Look::new(servers));
        let draws = Draws::new(seed);
        Self {
            scene,
            draws,
            clock,
            now,
            reports,
            words,
            log,
            board,
            actions,
            entries,
            informed,
            caught_up,
            back,
            search,
            asked,
            next,
            sights,
        }
    }

    /// Time has passed. The first call begins.
    pub fn wake(&mut self, now: Millis) {
        self.now = self.clock.read(now);
        self.step();
    }

    /// A request was answered with this HTTP status, or with none, which is 0.
    pub fn replied(&mut self, now: Millis, id: u64, status: u16, body: &[u8]) {
        if let Some((_, kind)) = self.asked.get(&id) {
            self.answered(now, id, Answer::read(*kind, status, body));
        }
    }

    /// What came of a request.
    pub fn answered(&mut self, now: Millis, id: u64, answer: Answer) {
        let Some((party, kind)) = self.asked.remove(&id) else { return };
        self.now = self.clock.read(now);
        match kind {
            Kind::Status => self.heard(party, answer),
            Kind::Actions => self.shown_actions(party, answer),
            Kind::Board => self.shown_entries(party, answer),
            Kind::Presence | Kind::Issue | Kind::Submission => {}
        }
        self.step();
    }

    /// The next thing to do, or to know.
    pub fn next_sight(&mut self) -> Option<Sight> {
        self.sights.pop_front()
    }

    /// When it is to be woken, by the device's clock.
    pub fn wake_at(&self) -> Millis {
        let latest = self.now + LONGEST_SLEEP;
        let words = self.words.iter().map(Word::due);
        let searches = self.search.as_ref().and_then(Search::due);
        let actions = self.actions.due().filter(|_| self.back.is_none());
        let informed = self.actions.patience(self.now).filter(|_| !self.informed);
        let entries = self.entries.due().filter(|_| self.reads_board());
        let caught_up = self.entries.patience(self.now).filter(|_| !self.caught_up);
        let others = [searches, actions, informed, entries, caught_up];
        self.clock.outside(words.chain(others).flatten().fold(latest, Millis::min))
    }

    /// A server's status and when it came, if the server answers.
    pub fn status(&self, party: PartyId) -> Option<(&Status, Millis)> {
        let word = self.words.get(party.index())?;
        word.current().map(|status| (status, self.clock.outside(word.came())))
    }

    /// A server's last status, however old, and when that came; 0 if there is none.
    pub fn last_word(&self, party: PartyId) -> (Option<&Status>, Millis) {
        let word = &self.words[party.index()];
        (word.last(), self.clock.outside(word.came()))
    }

    /// When a server says that the epoch that collects is sealed.
    pub fn seals(&self, party: PartyId) -> Option<Millis> {
        self.reports.seals_by(party).map(|seals| self.clock.outside(seals))
    }

    /// What the hosts did.
    pub fn log(&self) -> &HostLog {
        &self.log
    }

    /// The room that it follows.
    pub fn room(&self) -> &RoomId {
        self.scene.id()
    }

    /// How far the board is read.
    pub fn board(&self) -> &BoardReader {
        &self.board
    }

    /// Whether no server answers, although all were asked: what a device has kept can be read
    /// meanwhile ([`Follower::take_actions`], [`Follower::take_entries`]).
    pub fn is_alone(&self) -> bool {
        self.words.iter().all(|word| word.is_settled() && word.current().is_none())
    }

    /// Takes the hosts' next actions, however they came. Those before one that may not follow are
    /// taken.
    ///
    /// # Errors
    /// Why one may not follow.
    pub fn take_actions(&mut self, actions: Vec<SignedAction>) -> Result<(), String> {
        self.apply(actions)
    }

    /// Takes the board's next entries, however they came; all or none.
    ///
    /// # Errors
    /// Why they may not follow.
    pub fn take_entries(&mut self, entries: Vec<SignedEntry>) -> Result<(), String> {
        self.read(entries)
    }

    /// Reads the board anew from its beginning.
    pub fn reread(&mut self) {
        self.begin(self.scene.board());
    }

    /// The last epoch that so many servers say is over, with all before it, that one of them is
    /// honest, once all their boards were read: if its entry was not on them, there is none (F4).
    pub fn over(&self) -> Option<u64> {
        let (length, last) = (self.board.length() as u64, self.board.last_epoch());
        let over = |word: &Word| words::over(word.last()?, length, last);
        words::agreed(self.words.iter().filter_map(over), self.scene.believed)
    }

    /// Epochs whose messages may have been read although they published none, as any server says.
    pub fn may_have_opened(&self) -> impl Iterator<Item = u64> {
        let said = |word: &'_ Word| word.last().map(|status| status.may_have_opened.clone());
        self.words.iter().filter_map(said).flatten()
    }

    /// Whether so many servers say that the room takes nothing more that one of them is honest.
    pub fn is_closed(&self) -> bool {
        let closed = |word: &&Word| word.current().is_some_and(|status| status.epoch.is_none());
        self.words.iter().filter(closed).count() >= self.scene.believed
    }

    fn reads_board(&self) -> bool {
        self.informed || self.back.is_some() && self.search.is_none()
    }

    fn ask(&mut self, party: PartyId, call: Call) {
        let id = self.next;
        self.next += 1;
        self.asked.insert(id, (party, call.kind()));
        self.sights.push_back(Sight::Ask(Request { id, party, call }));
    }

    /// Does what time and the servers' words call for.
    fn step(&mut self) {
        for party in self.scene.parties() {
            let word = &mut self.words[party.index()];
            if word.due().is_some_and(|due| due <= self.now) {
                let after = word.asked();
                self.ask(party, Call::News { after });
            }
        }
        self.seek();
        while self.look_at_actions() || self.look_at_board() {}
    }

    /// F2.
    fn heard(&mut self, party: PartyId, answer: Answer) {
        let status = match answer {
            Answer::Status(status) => Some(*status),
            _ => None,
        };
        let room = &self.scene.room;
        let news = self.reports.hear(room, self.now, party, status.as_ref());
        self.words[party.index()].heard(self.now, status, &mut self.draws);
        self.sights.push_back(Sight::Heard { party, news });
        self.rouse();
    }

    fn rouse(&mut self) {
        self.actions.rouse(self.now);
        self.entries.rouse(self.now);
        if let Some(search) = &mut self.search {
            search.rouse(self.now);
        }
    }

    fn promised(&self, of: impl Fn(&Status) -> u64) -> Vec<Option<u64>> {
        self.words.iter().map(|word| word.current().map(&of)).collect()
    }

    /// How long the board is at least, as enough servers say.
    fn board_length(&self) -> Option<u64> {
        let said = self.promised(|status| status.board_length);
        words::agreed(said.into_iter().flatten(), self.scene.believed)
    }

    /// F5.
    fn seek(&mut self) {
        let Some(back) = self.back else { return };
        let length = self.board_length();
        if self.search.is_none() && is_behind(length, self.board.length() as u64) {
            self.asked.retain(|_, (_, kind)| *kind != Kind::Board);
            self.search = Some(Search::new(back));
        }
        let Some(search) = &mut self.search else { return };
        match search.next(self.now, self.words.len(), length) {
            Found::Ask(from) => {
                self.scene.parties().for_each(|party| self.ask(party, Call::Board { from }));
            }
            found => self.found(found),
        }
    }

    fn found(&mut self, found: Found) {
        if let Found::Place(index, previous) = found {
            let index = usize::try_from(index).unwrap_or(usize::MAX);
            self.search = None;
            self.begin(self.scene.board().starting_at(index, previous));
        }
    }

    fn begin(&mut self, board: BoardReader) {
        self.asked.retain(|_, (_, kind)| *kind != Kind::Board);
        self.board = board;
        self.entries = Look::new(self.words.len());
        self.caught_up = false;
    }

    fn known(&self, length: u64, of: impl Fn(&Status) -> u64) -> Known {
        let (promised, complete) = (self.promised(of), self.words.iter().all(Word::is_settled));
        Known { now: self.now, promised, length, believed: self.scene.believed, complete }
    }

    fn known_actions(&self) -> Known {
        self.known(self.log.length(), |status| status.actions)
    }

    fn known_entries(&self) -> Known {
        self.known(self.board.length() as u64, |status| status.board_length)
    }

    fn forged(&mut self, party: PartyId, why: String) {
        self.sights.push_back(Sight::Forged { party, why });
    }

    /// Lets one look at the hosts' actions go on; whether something was read.
    fn look_at_actions(&mut self) -> bool {
        if self.back.is_some() {
            return false;
        }
        let known = self.known_actions();
        match self.actions.next(&known) {
            Next::Rest => {
                if !self.informed && self.actions.caught_up(&known) {
                    self.informed = true;
                    self.sights.push_back(Sight::Informed);
                }
                return false;
            }
            Next::Ask(party, from) => {
                self.ask(PartyId(party as u8), Call::Actions { from });
                return false;
            }
            Next::Take(runs) => {
                for (party, actions) in runs {
                    if let Err(why) = self.apply(actions) {
                        self.actions.distrust(party);
                        self.forged(PartyId(party as u8), why);
                        break;
                    }
                }
            }
        }
        self.rouse();
        true
    }

    fn shown_actions(&mut self, party: PartyId, answer: Answer) {
        let actions = match answer {
            Answer::Actions(actions) => actions,
            other => {
                if matches!(other, Answer::Malformed) {
                    self.actions.distrust(party.index());
                    self.forged(
                        party,
                        "the server's list of the host's actions is malformed".into(),
                    );
                }
                Vec::new()
            }
        };
        let shown = actions.into_iter().map(|item| Shown { item, lack: 0 }).collect();
        self.actions.answered(shown, &self.known_actions());
    }

    fn apply(&mut self, actions: Vec<SignedAction>) -> Result<(), String> {
        let from = self.log.length();
        let wrong = actions.iter().find_map(|action| self.log.apply(action).err());
        let read = usize::try_from(self.log.length() - from).unwrap_or(usize::MAX);
        // What came before something wrong was right.
        let actions: Vec<_> = actions.into_iter().take(read).collect();
        if !actions.is_empty() {
            self.sights.push_back(Sight::Actions { from, actions });
        }
        wrong.map_or(Ok(()), |why| Err(why.to_string()))
    }

    /// Lets one look at the board go on; whether something was read.
    fn look_at_board(&mut self) -> bool {
        if !self.reads_board() {
            return false;
        }
        let known = self.known_entries();
        match self.entries.next(&known) {
            Next::Rest => {
                if !self.caught_up && self.entries.caught_up(&known) {
                    self.caught_up = true;
                    self.sights.push_back(Sight::CaughtUp);
                }
                return false;
            }
            Next::Ask(party, from) => {
                self.ask(PartyId(party as u8), Call::Board { from });
                return false;
            }
            Next::Take(runs) => {
                for (party, entries) in runs {
                    if let Err(why) = self.read(entries) {
                        self.entries.distrust(party);
                        self.forged(PartyId(party as u8), why);
                        break;
                    }
                }
            }
        }
        self.rouse();
        true
    }

    fn shown_entries(&mut self, party: PartyId, answer: Answer) {
        let entries = match answer {
            Answer::Board(entries) => entries,
            other => {
                if matches!(other, Answer::Malformed) {
                    self.entries.distrust(party.index());
                    self.forged(party, "the server's wall is malformed".into());
                }
                Vec::new()
            }
        };
        if let Some(search) = &mut self.search {
            let Scene { servers, believed, .. } = &*self.scene;
            let found = search.answered(self.now, entries.into_iter().next(), servers, *believed);
            return self.found(found);
        }
        let kept_from = words::kept_from(&self.words, &self.scene.room);
        let lack = |signed: &SignedEntry| lack(signed, &self.log, kept_from);
        let shown = entries.into_iter().map(|item| Shown { lack: lack(&item), item }).collect();
        self.entries.answered(shown, &self.known_entries());
    }

    fn read(&mut self, entries: Vec<SignedEntry>) -> Result<(), String> {
        let from = self.board.length() as u64;
        self.board.read(&entries).map_err(|error| error.to_string())?;
        if !entries.is_empty() {
            self.sights.push_back(Sight::Entries { from, entries });
        }
        Ok(())
    }
}

/// How many bodies an entry lacks without a known reason: a host had them erased, or their time is
/// over.
fn lack(signed: &SignedEntry, log: &HostLog, kept_from: Option<u64>) -> usize {
    let epoch = signed.entry.epoch.number;
    if kept_from.is_some_and(|kept| epoch < kept) {
        return 0;
    }
    let unexplained = |(index, message): &(u32, &Published)| {
        message.body().is_none() && !log.is_erased(&MessageId { epoch, index: *index })
    };
    (0..).zip(&signed.entry.messages).filter(unexplained).count()
}
