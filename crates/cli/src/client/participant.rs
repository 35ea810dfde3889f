//! One participant: what it says, and what became of it. Which requests it sends, and when, is
//! decided by [`ostrakon_client::Participant`].

mod ending;

use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use ostrakon_broadcast::outbox::{Observed, Outbox};
use ostrakon_client::{Action, Filled, News};
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_mixing::engine::IssueError;
use ostrakon_mixing::room::people_for;
use ostrakon_mixing::submission::NoSubmission;
use ostrakon_mixing::{Content, RowFormat, engines};
use ostrakon_party::PartyId;

use super::connection::driver::Driver;
use super::member::Member;
use super::room::Room;
use crate::system;

/// What happened to a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It is present at this server.
    Home(PartyId),
    /// Two servers at least hold what it submitted in this epoch.
    Submitted {
        /// The epoch.
        epoch: u64,
        /// Whether it was the message.
        message: bool,
    },
    /// No server gave it a slot in this epoch.
    NoSlot(u64),
    /// The epoch ended without the message, which enters the next one.
    Again(u64),
    /// The message is on the board, and the participant stays.
    Published(Published),
}

/// Where a message was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// The epoch.
    pub epoch: u64,
    /// The entry's index on the board.
    pub entry: usize,
}

/// Gives the row of an epoch: bytes that are written down as used up before they are given. `None`
/// if nothing may be sent in that epoch.
pub type Rows = Box<dyn FnMut(u64) -> Result<Option<Vec<u8>>> + Send + Sync>;

/// A participant of a room.
pub struct Participant {
    room: Arc<Room>,
    driver: Driver<ostrakon_client::Participant, Room>,
    /// Of a member: where it is written down what the key was used for.
    member: Option<Member>,
    outbox: Outbox,
    /// Of a participant that has something else to say in every epoch, and never a cover.
    rows: Option<Rows>,
    /// By party, the version of the status that the machine has heard.
    heard: Vec<Option<u64>>,
    /// Where it is present, as was told.
    home: Option<PartyId>,
    seen: usize,
    /// The last epoch that is over by the word of as many servers as are believed.
    over: Option<u64>,
    /// The minimum that a host has lowered below what the participant joined with.
    eased: Option<u32>,
    /// Whether it has taken part in an epoch with that minimum, as everybody does.
    took_part: bool,
    /// Whether it goes on with covers once its message is on the board.
    stays: bool,
}

impl Participant {
    /// A participant with a fresh key and one message, or `None` to send covers only. `home` is
    /// where it is present at first, if it has a preference.
    ///
    /// # Errors
    /// If the message is longer than the room admits.
    pub fn new(room: Arc<Room>, message: Option<Vec<u8>>, home: Option<PartyId>) -> Result<Self> {
        let key = SigningKey::from_seed(&system::random());
        Self::with_key(room, message.unwrap_or_default(), home, key)
    }

    fn with_key(
        room: Arc<Room>,
        message: Vec<u8>,
        home: Option<PartyId>,
        key: SigningKey,
    ) -> Result<Self> {
        let limit = RowFormat::new(&room.descriptor, 0).limit();
        let length = message.len();
        ensure!(
            length <= limit,
            "the message has {length} bytes; this room takes at most {limit}: shorten it"
        );
        let mut outbox = Outbox::default();
        outbox.put(message)?;
        let seed = Secret::new(system::random());
        let machine = ostrakon_client::Participant::new(room.scene.clone(), key, seed, home);
        let driver = Driver::new(machine, room.clone());
        let heard = vec![None; room.connections.len()];
        let seen = room.entries().borrow().len();
        let (member, rows, home, over, eased) = (None, None, None, None, None);
        let (took_part, stays) = (false, false);
        Ok(Self {
            room,
            driver,
            member,
            outbox,
            rows,
            heard,
            home,
            seen,
            over,
            eased,
            took_part,
            stays,
        })
    }

    /// Like [`Participant::new`], for a member with a key that is kept.
    ///
    /// # Errors
    /// If the message is longer than the room admits.
    pub fn of_member(room: Arc<Room>, message: Vec<u8>, member: Member) -> Result<Self> {
        let mut participant = Self::with_key(room, message, None, member.key())?;
        if let Some(spent) = member.spent() {
            // Whatever became of it: nothing is made for that epoch again.
            participant.outbox.ended_without_board(spent);
        }
        participant.member = Some(member);
        Ok(participant)
    }

    /// Like [`Participant::new`], for who hands in a row of its own in every epoch. It takes part
    /// until it is stopped, and does not look at boards.
    ///
    /// # Errors
    /// None that depend on what is said.
    pub fn of_rows(room: Arc<Room>, rows: Rows) -> Result<Self> {
        let mut participant = Self::new(room, None, None)?;
        participant.rows = Some(rows);
        Ok(participant)
    }

    /// The same participant, which goes on with covers once its message is on the board: those who
    /// have spoken are the crowd of those who have not.
    #[must_use]
    pub fn staying(mut self) -> Self {
        self.stays = true;
        self
    }

    /// Of a member: sees to it that its key may take part ([`Member::admit`]).
    ///
    /// # Errors
    /// If it may not.
    pub async fn admit(&self) -> Result<()> {
        match &self.member {
            Some(member) => member.admit(&self.room).await,
            None => Ok(()),
        }
    }

    /// Takes part until the message is on the board; without a message, or if it stays
    /// ([`Participant::staying`]), for ever.
    ///
    /// # Errors
    /// If the room is closed.
    pub async fn take_part(mut self, mut report: impl FnMut(Event)) -> Result<Published> {
        let (mut entries, mut ended) = (self.room.entries(), self.room.ended());
        let (mut news, mut closed) = (self.room.news(), self.room.closed());
        loop {
            entries.mark_unchanged();
            news.mark_unchanged();
            // Before the board is read, so that it holds what is over.
            self.over = *ended.borrow_and_update();
            self.doubt();
            while let Some(published) = self.learn(&mut report) {
                if !self.stays {
                    return Ok(published);
                }
                report(Event::Published(published));
            }
            self.go_on(*closed.borrow_and_update())?;
            self.listen();
            self.act(&mut report);
            self.unless_eased()?;
            tokio::select! {
                () = self.driver.turn() => {}
                _ = entries.changed() => {}
                _ = ended.changed() => {}
                _ = news.changed() => {}
                _ = closed.changed() => {}
            }
        }
    }

    /// Reads the board's new entries. That an epoch ended without the message is believed of a
    /// later one's entry only, since entries are signed: who could make a single participant
    /// believe it would see its message come out twice.
    fn learn(&mut self, report: &mut impl FnMut(Event)) -> Option<Published> {
        let entries = self.room.entries();
        let entries = entries.borrow();
        if self.rows.is_some() {
            self.seen = entries.len();
        }
        for signed in entries.iter().skip(self.seen) {
            let entry = self.seen;
            self.seen += 1;
            let epoch = signed.entry.epoch.number;
            match self
                .outbox
                .observe_with(&signed.entry, |message| self.room.claim(signed, message))
            {
                Observed::Published => return Some(Published { epoch, entry }),
                Observed::Again => report(Event::Again(epoch)),
                Observed::Nothing | Observed::Held => {}
            }
        }
        None
    }

    /// Tells the machine what the servers have said since it was told last.
    fn listen(&mut self) {
        let words = self.room.statuses().borrow().clone();
        for ((party, word), heard) in self.room.parties().zip(&words).zip(&mut self.heard) {
            let version = word.as_ref().map(|word| word.0.version);
            if *heard != version {
                *heard = version;
                let word = word.as_ref().map(|word| (&word.0, word.1));
                self.driver.happen(|machine, now| machine.heard(now, party, word));
            }
        }
    }

    /// Does what the machine asks for.
    fn act(&mut self, report: &mut impl FnMut(Event)) {
        while let Some(action) = self.driver.next_other() {
            match action {
                Action::Ask(_) => {}
                Action::Fill(context) => {
                    let epoch = context.epoch.number;
                    let filled = self.fill(epoch, context.minimum);
                    self.driver.happen(|machine, now| machine.filled(now, epoch, filled));
                }
                Action::Tell(news) => self.tell(news, report),
            }
        }
    }

    fn tell(&mut self, news: News, report: &mut impl FnMut(Event)) {
        match news {
            News::Looking => self.home = None,
            News::Waiting { home } => {
                if self.home.replace(home) != Some(home) {
                    report(Event::Home(home));
                }
            }
            News::Placed { .. } => {}
            News::HandedIn { epoch, message } => {
                self.took_part = self.eased.is_some();
                report(Event::Submitted { epoch, message });
            }
            News::NoSlot { epoch } => report(Event::NoSlot(epoch)),
            // What the other servers give may make it good.
            News::NotMade {
                epoch,
                why: why @ (NoSubmission::NotAgreed | NoSubmission::Issue(IssueError::Incomplete)),
            } => {
                tracing::debug!(epoch, "{why}");
            }
            News::NotMade { epoch, why } => tracing::warn!(epoch, "{why}"),
        }
    }

    /// Decides what goes into an epoch, and writes it down.
    fn fill(&mut self, epoch: u64, minimum: u32) -> Filled {
        // Whoever joins agrees to what it finds.
        if self.outbox.agreed().is_none_or(|before| minimum >= before) {
            self.outbox.agree(minimum);
        } else {
            self.eased = Some(minimum);
        }
        if let Some(rows) = &mut self.rows {
            let row = if self.eased.is_some() { Ok(None) } else { rows(epoch) };
            // Without being written down it must not leave.
            let row = row.unwrap_or_else(|error| {
                tracing::error!(epoch, "{error:#}");
                None
            });
            return row.map_or(Filled::Nothing, |row| Filled::Row(Content::Message(row)));
        }
        let Some(content) = self.outbox.content_among(epoch, minimum) else {
            return Filled::Nothing;
        };
        match self.member.as_mut().map_or(Ok(()), |member| member.spend(epoch)) {
            Ok(()) => Filled::Row(content),
            Err(error) => {
                tracing::error!(epoch, "{error:#}");
                Filled::Later
            }
        }
    }

    /// Whether something is kept from an epoch only by its minimum. Of a message that is handed in
    /// the epoch that has it decides; said once more, it would be there twice. Until that is over,
    /// by the word of as many servers as are believed, covers go into the others.
    fn would_be_said(&self) -> bool {
        let decided = self.outbox.undecided().is_none_or(|epoch| self.over >= Some(epoch));
        self.outbox.message().is_some() && decided || self.rows.is_some()
    }

    /// Ends a participation whose user has not agreed to what the host asks for now: once a cover
    /// is handed in, so that silence is nobody's news.
    fn unless_eased(&self) -> Result<()> {
        let shown = self.took_part || self.rows.is_some();
        let Some(minimum) = self.eased.filter(|_| shown && self.would_be_said()) else {
            return Ok(());
        };
        let servers = self.room.connections.len();
        let enough = people_for(minimum, &engines::trust(self.room.descriptor.engine, servers)?);
        bail!(
            "the room's host has lowered how many are enough: messages appear from {enough} people on now. Nothing more was \
             sent; give the same command again if that is enough for you"
        )
    }
}

#[cfg(test)]
mod tests;
