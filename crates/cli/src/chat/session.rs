//! Presence: a row in every round, every board read, and what the user says meanwhile.

use std::sync::{Arc, Mutex, MutexGuard};

use anyhow::{Context, Result, bail};
use ostrakon_messaging::{Client, ContactLink, ContactState, ContactView, Event, Refused};
use tokio::sync::mpsc;

use super::kept::Kept;
use super::order::Order;
use super::report::Report;
use crate::client::{self, Participant, Room};
use crate::system;

/// Contacts that are kept of those who are let in without a question.
const MANY: usize = 64;

/// Cycles after which a conversation with one of them is given up in which nothing is heard.
const SILENT: u64 = 60;

/// What the program does by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    /// Accepts every call.
    pub accepts: bool,
    /// Answers every message with its own words.
    pub echoes: bool,
    /// Ends when all that the user said to this contact is delivered, and there is no more to come.
    pub leaves_after: Option<u32>,
}

/// A client that is present.
pub struct Session {
    room: Arc<Room>,
    kept: Arc<Mutex<Kept>>,
    manner: Manner,
    report: Report,
}

impl Session {
    /// A client in its room.
    pub fn new(room: Arc<Room>, kept: Kept, manner: Manner, report: Report) -> Self {
        Self { room, kept: Arc::new(Mutex::new(kept)), manner, report }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("no panic while held")
    }

    /// Is present until the room is closed, the program is stopped, or everything is delivered, if
    /// it is to leave then.
    ///
    /// # Errors
    /// If the room is closed, or what happened cannot be written down.
    pub async fn run(mut self, mut orders: mpsc::Receiver<Order>) -> Result<()> {
        let _watching = self.room.watch();
        let participant = Participant::of_rows(self.room.clone(), rows(self.kept.clone()))?;
        let report = self.report;
        let taking_part = participant.take_part(move |event| report.presence(event));
        tokio::pin!(taking_part);
        let (mut entries, mut ended) = (self.room.entries(), self.room.ended());
        let mut more = true;
        loop {
            entries.mark_unchanged();
            // Before the board is read, so that it holds what is over.
            let over = *ended.borrow_and_update();
            self.look(over)?;
            if !more && self.manner.leaves_after.is_some_and(|contact| self.is_done(contact)) {
                return Ok(());
            }
            tokio::select! {
                gone = &mut taking_part => {
                    gone?;
                    bail!("the room is closed: it takes no more messages");
                }
                _ = entries.changed() => {}
                _ = ended.changed() => {}
                order = orders.recv(), if more => match order {
                    Some(order) => self.obey(&order)?,
                    None => more = false,
                },
            }
        }
    }

    /// Reads what is new on the board, and learns which rounds brought nothing out.
    fn look(&mut self, over: Option<u64>) -> Result<()> {
        let (room, entries) = (self.room.clone(), self.room.entries());
        // Those that were read are passed over by their rounds: the first ones get lost.
        let new: Vec<_> = entries.borrow().clone();
        let mut kept = self.kept();
        let began = kept.client.last_read();
        let mut events = Vec::new();
        for signed in &new {
            let round = signed.entry.epoch.number;
            if began.is_some_and(|began| round <= began) {
                continue;
            }
            let rows: Vec<&[u8]> = signed.entry.bodies().collect();
            events.extend(kept.client.on_round(round, &rows));
        }
        debug_assert_eq!(room.link.room, kept.client.room());
        events.extend(over.into_iter().flat_map(|over| kept.client.on_over(over)));
        kept.untold.extend(events);
        if self.manner.accepts {
            accept_all(&mut kept.client);
        }
        if kept.client.last_read() != began {
            kept.save()?;
        }
        self.tell(&mut kept)
    }

    /// Tells the user what happened, and does what is to be done by itself. What was told is told
    /// again if the program ends before that is written down; nothing is left out.
    fn tell(&self, kept: &mut Kept) -> Result<()> {
        let untold = std::mem::take(&mut kept.untold);
        if untold.is_empty() {
            return Ok(());
        }
        for event in &untold {
            self.report.event(event, &kept.client)?;
            if let (Event::Received { contact, text, .. }, true) = (event, self.manner.echoes)
                && let Err(error) = kept.client.say(*contact, text)
            {
                self.report.complaint(&error.to_string());
            }
        }
        kept.save()
    }

    /// Whether everything that was said to a contact is delivered.
    fn is_done(&self, number: u32) -> bool {
        use ostrakon_messaging::MessageState::{Delivered, Unknown};
        let settled = |state| matches!(state, Delivered | Unknown);
        let contacts = self.kept().client.contacts();
        let of_contact = contacts.iter().filter(|contact| contact.number == number);
        of_contact.flat_map(|contact| &contact.messages).all(|message| settled(message.state))
    }

    /// Does what the user says. What cannot be done is told, and nothing else happens.
    fn obey(&self, order: &Order) -> Result<()> {
        let mut kept = self.kept();
        if *order == Order::List {
            return self.report.list(&kept.client, &kept.room);
        }
        match carry_out(&mut kept, order) {
            Ok(Done::Link(link)) => self.report.link(&link)?,
            Ok(Done::Code(code)) => self.report.code(&code)?,
            Ok(Done::Nothing) => {}
            Err(error) => {
                self.report.complaint(&format!("{error:#}"));
                return Ok(());
            }
        }
        kept.save()
    }
}

/// What an order results in.
enum Done {
    Nothing,
    Link(ContactLink),
    Code(String),
}

fn carry_out(kept: &mut Kept, order: &Order) -> Result<Done> {
    let rng = &mut system::entropy();
    let client = &mut kept.client;
    match order {
        Order::Say(name, text) => {
            let contact = contact(client, name)?;
            client.say(contact.number, text)?;
            client.engage(contact.number, rng)?;
        }
        Order::Call(name) => {
            let contact = contact(client, name)?;
            if contact.state != ContactState::Idle {
                bail!("there is a conversation or a call with {name} already");
            }
            client.engage(contact.number, rng)?;
        }
        Order::Accept(name) => {
            let contact = contact(client, name)?;
            client.accept(contact.number, rng)?;
        }
        Order::Decline(name) => {
            let contact = contact(client, name)?;
            client.decline(contact.number)?;
        }
        Order::End(name) => {
            let contact = contact(client, name)?;
            client.end(contact.number)?;
        }
        Order::Code(name) => {
            let code = contact(client, name)?.code;
            return Ok(Done::Code(code.context("there is no conversation yet, and so no code")?));
        }
        Order::Add(link, name) => {
            let link: ContactLink = link.parse()?;
            if link.room != client.room() {
                bail!("the link leads to another room: `ostrakon chat add` keeps it for that one");
            }
            client.add_contact(link.callee, name)?;
        }
        Order::Link(label) => {
            let link = client.add_link(label, rng)?;
            return Ok(Done::Link(ContactLink::in_room(&kept.room, link.callee)));
        }
        Order::Revoke(number) => client.revoke(*number)?,
        Order::Forget(name) => {
            let contact = contact(client, name)?;
            client.remove_contact(contact.number)?;
        }
        Order::List => {}
    }
    Ok(Done::Nothing)
}

/// Accepts every call that waits, also those that came when no channel was free, or before the
/// program was started. Contacts are not kept for ever of those who are let in without a question:
/// who has no conversation makes room.
fn accept_all(client: &mut Client) {
    client.give_up_silent(SILENT);
    let contacts = client.contacts();
    let idle = |contact: &&ContactView| contact.state == ContactState::Idle;
    if contacts.len() > MANY {
        for contact in contacts.iter().filter(idle).take(contacts.len() - MANY) {
            let _gone = client.remove_contact(contact.number);
        }
    }
    for contact in contacts.iter().filter(|contact| contact.state == ContactState::Called) {
        // Without a free channel it waits; the caller calls again by itself.
        let _waits = client.accept(contact.number, &mut system::entropy());
    }
}

/// The contact of a number, or of a name that the user gave or has accepted.
///
/// # Errors
/// If there is none, or more than one.
pub fn contact(client: &Client, name: &str) -> Result<ContactView> {
    let contacts = client.contacts();
    // Digits are a number and never a name: callers choose their names themselves.
    if let Ok(number) = name.parse::<u32>() {
        let numbered = contacts.into_iter().find(|contact| contact.number == number);
        return numbered
            .with_context(|| format!("there is no contact {name}: see `ostrakon chat list`"));
    }
    let mut named = contacts.iter().filter(|contact| contact.added && contact.name == name);
    match (named.next(), named.next()) {
        (Some(contact), None) => Ok(contact.clone()),
        (Some(_), Some(_)) => bail!("there are several contacts named {name}: give the number"),
        _ => bail!(
            "there is no contact {name}: see `ostrakon chat list`; callers that were not accepted have numbers only"
        ),
    }
}

/// The row of each round, written down before it is given.
fn rows(kept: Arc<Mutex<Kept>>) -> client::Rows {
    Box::new(move |round| {
        let mut kept = kept.lock().expect("no panic while held");
        match kept.client.next_row(round, &mut system::entropy()) {
            Ok(row) => {
                kept.save()?;
                Ok(Some(row))
            }
            Err(Refused::Spent(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ostrakon_messaging::params::CYCLE;
    use ostrakon_mixing::RoomId;
    use ostrakon_mixing::link::Link;

    use super::*;
    use crate::chat::kept::Directory;
    use crate::chat::order::parse;

    const WIDTH: usize = 254;

    /// A round among these, in which all read what all wrote.
    fn round(number: u64, clients: &mut [&mut Client]) {
        let row =
            |client: &mut &mut Client| client.next_row(number, &mut system::entropy()).unwrap();
        let rows: Vec<_> = clients.iter_mut().map(row).collect();
        let rows: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
        for client in clients {
            client.on_round(number, &rows);
        }
    }

    /// A client that is kept in a directory of its own.
    fn kept(directory: &Path, name: &str) -> Kept {
        let link = format!("http://127.0.0.1:7000/#/room/{}/{}", "01".repeat(16), "02".repeat(32));
        let link: Link = link.parse().unwrap();
        let client = Client::new(link.room, WIDTH, name).unwrap();
        Directory::open(directory.join(name), None).unwrap().add(link, client).unwrap()
    }

    /// Two who type orders, in rounds of their own.
    struct Two {
        ann: Kept,
        bob: Kept,
        next: u64,
    }

    impl Two {
        /// Until calls of the next round for calls were read, and answers.
        fn dial(&mut self) {
            loop {
                self.next += 1;
                round(self.next, &mut [&mut self.ann.client, &mut self.bob.client]);
                if self.next % CYCLE == CYCLE - 1 {
                    return;
                }
            }
        }

        fn states(&self) -> [Vec<ContactState>; 2] {
            [&self.ann, &self.bob]
                .map(|one| one.client.contacts().into_iter().map(|contact| contact.state).collect())
        }
    }

    fn order(kept: &mut Kept, line: &str) -> Result<Done> {
        carry_out(kept, &parse(line).map_err(anyhow::Error::msg)?)
    }

    #[test]
    fn what_is_ordered_is_done() {
        use ContactState::{Answering, Called, Calling, Ending, Idle, Talking};
        let directory = tempfile::tempdir().unwrap();
        let [ann, bob] = ["ann", "bob"].map(|name| kept(directory.path(), name));
        let mut two = Two { ann, bob, next: 0 };
        let Done::Link(link) = order(&mut two.bob, "link for Ann").unwrap() else { panic!() };
        assert_eq!(two.bob.client.links()[0].label, "for Ann");
        let elsewhere = link.to_string().replacen("/chat/01", "/chat/99", 1);
        assert!(order(&mut two.ann, &format!("add {elsewhere} Bob")).is_err());
        order(&mut two.ann, &format!("add {link} Bob")).unwrap();
        assert!(order(&mut two.ann, "code Bob").is_err(), "nobody talks yet");

        // Declined, and not called again by that call; ended by who calls.
        order(&mut two.ann, "call Bob").unwrap();
        assert!(order(&mut two.ann, "call Bob").is_err());
        two.dial();
        assert_eq!(two.states(), [vec![Calling], vec![Called]]);
        order(&mut two.bob, "decline 0").unwrap();
        two.dial();
        assert_eq!(two.states(), [vec![Calling], vec![]]);
        order(&mut two.ann, "end Bob").unwrap();
        assert_eq!(two.states(), [vec![Idle], vec![]]);

        // Accepted, talked, ended, called again, forgotten.
        order(&mut two.ann, "say Bob hello").unwrap();
        two.dial();
        let caller = two.bob.client.contacts()[0].number;
        order(&mut two.bob, &format!("accept {caller}")).unwrap();
        assert_eq!(two.states(), [vec![Calling], vec![Answering]]);
        (0..3).for_each(|_| two.dial());
        assert_eq!(two.states(), [vec![Talking], vec![Talking]]);
        let codes = [order(&mut two.ann, "code Bob"), order(&mut two.bob, "code ann")];
        let codes = codes.map(|done| match done.unwrap() {
            Done::Code(code) => code,
            _ => panic!("a code"),
        });
        assert_eq!(codes[0], codes[1]);
        assert_eq!(two.bob.client.contacts()[0].messages[0].text, "hello");
        order(&mut two.bob, "end ann").unwrap();
        assert_eq!(two.states(), [vec![Talking], vec![Ending]]);
        (0..12).for_each(|_| two.dial());
        assert_eq!(two.states(), [vec![Idle], vec![Idle]]);
        order(&mut two.bob, "forget ann").unwrap();
        assert!(two.bob.client.contacts().is_empty());
        assert!(order(&mut two.bob, "forget ann").is_err());

        // By a link that was taken back nobody is heard.
        let revoke = format!("revoke {}", two.bob.client.links()[0].number);
        order(&mut two.bob, &revoke).unwrap();
        assert!(two.bob.client.links().is_empty() && order(&mut two.bob, &revoke).is_err());
        order(&mut two.ann, "call Bob").unwrap();
        (0..2).for_each(|_| two.dial());
        assert_eq!(two.states(), [vec![Calling], vec![]]);
    }

    /// Callers choose their names: one that is named like a contact, or like its number, is not
    /// taken for it.
    #[test]
    fn a_caller_cannot_take_a_contact_s_number_or_name() {
        let rng = &mut system::entropy();
        let client = |name: &str| Client::new(RoomId([4; 16]), WIDTH, name).unwrap();
        let (mut bob, mut alice) = (client("Bob"), client("Alice"));
        let of_alice = alice.add_link("", rng).unwrap();
        assert_eq!(bob.add_contact(of_alice.callee, "Alice").unwrap(), 0);
        let public = bob.add_link("public", rng).unwrap();
        let mut callers = [client("0"), client("Alice")];
        for caller in &mut callers {
            let contact = caller.add_contact(public.callee.clone(), "Bob").unwrap();
            caller.call(contact, None, rng).unwrap();
        }
        let [first, second] = &mut callers;
        for number in 0..5 {
            round(number, &mut [&mut bob, first, second]);
        }
        assert_eq!(bob.contacts().len(), 3);
        assert_eq!(contact(&bob, "0").unwrap().name, "Alice");
        assert_eq!(contact(&bob, "Alice").unwrap().number, 0);
        assert!(contact(&bob, "7").is_err());
        // A caller that waits has a number; once it was accepted, two are named alike.
        let caller = bob.contacts().into_iter().rfind(|one| one.name == "Alice").unwrap().number;
        assert_eq!(contact(&bob, &caller.to_string()).unwrap().state, ContactState::Called);
        bob.accept(caller, rng).unwrap();
        assert!(contact(&bob, "Alice").is_err_and(|error| error.to_string().contains("several")));
    }
}
