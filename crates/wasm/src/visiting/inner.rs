//! What the bindings do, in plain Rust.

use ostrakon_client::Millis;
use ostrakon_client::visitor::{self, Action, Deed, Filling};
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_decide::{Archive, Invitation, Operators, Outcome, Receipt, residual};
use serde::Serialize;

use super::told::{DoubtJson, FailureJson, NewsJson, deed};
use crate::deciding::inner::{decision_id, view};
use crate::inner::{json, servers};
use crate::taking_part::inner::AskJson;

/// What is shown to the user.
type Sentence = String;

pub struct Visitor {
    pub machine: visitor::Visitor,
    servers: usize,
}

#[derive(Serialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
enum ActionJson {
    Ask(AskJson),
    Keep,
    Tell(NewsJson),
}

#[derive(Serialize)]
struct DistrustedJson {
    party: u8,
    doubt: DoubtJson,
}

#[derive(Serialize)]
struct UnopenedJson<'a> {
    party: u8,
    detail: &'a str,
}

#[derive(Serialize)]
struct HereJson<'a> {
    account: String,
    wanted: Vec<&'static str>,
    pending: Option<&'a [u8]>,
    receipt: Option<&'a Receipt>,
    distrusted: Vec<DistrustedJson>,
    refusals: Vec<UnopenedJson<'a>>,
    outcome: Option<&'a Outcome>,
    unresolved: Option<DoubtJson>,
}

fn secret(seed: &[u8]) -> Result<Secret, Sentence> {
    seed.try_into().map(Secret::new).map_err(|_| "a seed has 32 bytes".to_owned())
}

impl Visitor {
    pub fn new(
        operators: Operators,
        decision: &str,
        invitation: Option<Invitation>,
        account: &[u8; 32],
        seed: &[u8],
    ) -> Result<Self, Sentence> {
        let (id, account) = (decision_id(decision)?, SigningKey::from_seed(account));
        let servers = operators.keys.len();
        let machine = visitor::Visitor::new(operators, id, invitation, account, &secret(seed)?);
        Ok(Self { machine, servers })
    }

    pub fn remove(&mut self, now: Millis, person: u16) -> bool {
        self.machine.carry_out(now, Deed::Remove(person))
    }

    pub fn cancel(&mut self, now: Millis) -> bool {
        self.machine.carry_out(now, Deed::Cancel)
    }

    pub fn say_verified(&mut self, now: Millis) -> bool {
        self.machine.carry_out(now, Deed::Verified)
    }

    pub fn actions(&mut self) -> String {
        let mut actions = Vec::new();
        while let Some(action) = self.machine.next_action() {
            actions.extend(match action {
                Action::Ask(request) => Some(ActionJson::Ask(AskJson::of(request.sending()))),
                Action::Keep => Some(ActionJson::Keep),
                Action::Tell(news) => {
                    NewsJson::of(&news, &self.machine, self.servers).map(ActionJson::Tell)
                }
            });
        }
        json(&actions)
    }

    pub fn here(&self) -> String {
        let Self { machine, .. } = self;
        let distrusted = machine.distrusted().iter();
        let refusals = machine.refusals().iter();
        json(&HereJson {
            account: machine.account().verifying_key().to_hex(),
            wanted: machine.wanted().map(deed).collect(),
            pending: machine.pending(),
            receipt: machine.receipt(),
            distrusted: distrusted
                .map(|(party, doubt)| DistrustedJson { party: party.0, doubt: doubt.into() })
                .collect(),
            refusals: refusals
                .map(|(party, detail)| UnopenedJson { party: party.0, detail })
                .collect(),
            outcome: machine.outcome(),
            unresolved: machine.unresolved().map(DoubtJson::from),
        })
    }

    pub fn view(&self) -> Option<String> {
        self.machine.chain().map(view)
    }

    pub fn residual(&self, person: u16) -> Option<String> {
        self.machine.chain().map(|chain| json(&residual(chain, person)))
    }

    pub fn archive(&self, list: &str) -> Result<String, Sentence> {
        let (records, openings) = (self.machine.records(), self.machine.openings());
        Ok(Archive::new(servers(list)?, records, &openings).to_text())
    }
}

pub struct Stock {
    pub machine: visitor::Stock,
}

#[derive(Serialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
enum FillingJson {
    Ask(AskJson),
    Full { added: u64 },
    Failed { failure: FailureJson },
}

impl Stock {
    pub fn new(
        operators: Operators,
        account: &[u8; 32],
        most: Option<u32>,
        seed: &[u8],
    ) -> Result<Self, Sentence> {
        let account = SigningKey::from_seed(account);
        let most = most.map_or(u64::MAX, u64::from);
        let machine = visitor::Stock::new(operators, account, most, &secret(seed)?);
        Ok(Self { machine })
    }

    pub fn actions(&mut self) -> String {
        let mut fillings = Vec::new();
        while let Some(filling) = self.machine.next_filling() {
            fillings.push(match filling {
                Filling::Ask(request) => FillingJson::Ask(AskJson::of(request.sending())),
                Filling::Full(added) => FillingJson::Full { added },
                Filling::Failed(failure) => FillingJson::Failed { failure: (&failure).into() },
            });
        }
        json(&fillings)
    }
}

#[cfg(test)]
mod tests;
