//! What the user is told.

use anyhow::Result;
use ostrakon_messaging::{Client, ContactLink, ContactState, Event, Message, MessageState};
use ostrakon_mixing::link::Link;
use serde::Serialize;

use crate::client::Event as Presence;
use crate::output;

/// How it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// In words.
    Words,
    /// As JSON, one value a line.
    Json,
    /// Not at all.
    Nothing,
}

/// Tells the user.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// How.
    pub form: Form,
}

/// A contact, as it is listed.
#[derive(Serialize)]
struct ContactJson<'a> {
    room: String,
    contact: u32,
    name: &'a str,
    state: ContactState,
    code: Option<&'a str>,
    messages: &'a [Message],
}

/// A link of the user's own, as it is listed.
#[derive(Serialize)]
struct LinkJson<'a> {
    room: String,
    number: u32,
    label: &'a str,
    link: String,
}

impl Report {
    fn is_json(self) -> bool {
        self.form == Form::Json
    }

    /// What happened in the room.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub fn event(self, event: &Event, client: &Client) -> Result<()> {
        match self.form {
            Form::Words => {}
            Form::Json => return output::json(event),
            Form::Nothing => return Ok(()),
        }
        let name = |number: u32| {
            let mut contacts = client.contacts().into_iter();
            contacts.find(|contact| contact.number == number).map_or("?".into(), |c| c.name)
        };
        match event {
            Event::Called { contact, name: given, known, link } => {
                let by = link_called(client, *link);
                let who = if *known {
                    format!("{} calls by {by}", name(*contact))
                } else {
                    format!(
                        "somebody calls by {by}, who takes the name {given} (contact {contact})"
                    )
                };
                output::line(&format!("* {who}: `accept {contact}` or `decline {contact}`"))
            }
            Event::Accepted { contact } => {
                output::line(&format!("* {} has accepted the call", name(*contact)))
            }
            Event::Connected { contact } => output::line(&format!(
                "* the conversation with {} stands; `code {contact}` shows what to compare",
                name(*contact)
            )),
            Event::Unanswered { contact } => {
                output::line(&format!("* {} did not come back", name(*contact)))
            }
            Event::Received { contact, text, .. } => {
                output::message(format!("{}: {}", name(*contact), continued(text)).as_bytes())
            }
            Event::Moved { contact, message, state } => {
                eprintln!("  message {message} to {}: {}", name(*contact), words(*state));
                Ok(())
            }
            Event::Ended { contact } => {
                output::line(&format!("* {} has ended the conversation", name(*contact)))
            }
            Event::Copied { contact } => output::line(&format!(
                "* the conversation with {0} was ended here: another copy of your contacts takes part in it from elsewhere, or {0} \
                 has written in your place. Use one copy only, and call again",
                name(*contact)
            )),
            Event::CallsDropped { count } => output::line(&format!(
                "* {count} more calls were dropped: too many wait; revoke a link that went too far"
            )),
        }
    }

    /// How it stands with being present.
    pub fn presence(self, event: Presence) {
        if let Presence::Home(party) = event
            && self.form != Form::Nothing
        {
            eprintln!("  present at server {}", party.0);
        }
    }

    /// Something that could not be done.
    pub fn complaint(self, text: &str) {
        if self.form != Form::Nothing {
            eprintln!("  {text}");
        }
    }

    /// A contact link of the user's own.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub fn link(self, link: &ContactLink) -> Result<()> {
        let link = link.to_string();
        if self.is_json() {
            output::json(&serde_json::json!({ "link": link }))
        } else {
            output::line(&link)
        }
    }

    /// What two people compare.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub fn code(self, code: &str) -> Result<()> {
        if self.is_json() {
            return output::json(&serde_json::json!({ "code": code }));
        }
        output::line(code)?;
        eprintln!("  Read it to each other. If it is the same, nobody is between you.");
        Ok(())
    }

    /// Contacts and links of a room.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub fn list(self, client: &Client, room: &Link) -> Result<()> {
        let id = client.room().to_hex();
        for contact in client.contacts() {
            let (name, state) = (&contact.name, contact.state);
            if self.is_json() {
                output::json(&ContactJson {
                    room: id.clone(),
                    contact: contact.number,
                    name,
                    state,
                    code: contact.code.as_deref(),
                    messages: &contact.messages,
                })?;
                continue;
            }
            output::line(&format!("{}: {name}, {}", contact.number, standing(state)))?;
            for message in &contact.messages {
                let who = if message.own { "you" } else { name };
                let state = if message.own { words(message.state) } else { "" };
                let text = continued(&message.text);
                output::message(format!("    {who}: {text}  {state}").as_bytes())?;
            }
        }
        for own in client.links() {
            let link = ContactLink::in_room(room, own.callee.clone()).to_string();
            if self.is_json() {
                let (number, label) = (own.number, own.label.as_str());
                output::json(&LinkJson { room: id.clone(), number, label, link })?;
            } else {
                output::line(&format!("link {} {}: {link}", own.number, own.label))?;
            }
        }
        Ok(())
    }
}

/// A text whose further lines cannot be taken for lines of their own.
fn continued(text: &str) -> String {
    text.replace('\n', "\n    | ")
}

/// How the user knows a link of its own: who has it is told by nothing else.
fn link_called(client: &Client, number: u32) -> String {
    let label = client.links().into_iter().find(|own| own.number == number).map(|own| own.label);
    match label.filter(|label| !label.is_empty()) {
        Some(label) => format!("the link for {label}"),
        None => format!("link {number}"),
    }
}

/// How a message stands, in words.
fn words(state: MessageState) -> &'static str {
    match state {
        MessageState::Waiting => "(waits)",
        MessageState::Sent => "(sent)",
        MessageState::Delivered => "(delivered)",
        MessageState::SentAgain => "(sent again)",
        MessageState::RoundStopped => "(its round was stopped; it is sent again)",
        MessageState::Unknown => "(the conversation ended; whether it arrived is not known)",
    }
}

/// How it stands with a contact, in words.
fn standing(state: ContactState) -> &'static str {
    match state {
        ContactState::Idle => "no conversation",
        ContactState::Calling => "you call",
        ContactState::Called => "calls you",
        ContactState::Answering => "you have accepted",
        ContactState::Talking => "a conversation",
        ContactState::Ending => "the conversation ends",
    }
}
