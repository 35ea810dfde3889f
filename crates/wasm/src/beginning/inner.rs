//! What the binding does, in plain Rust.

use ostrakon_client::visitor::{self, BeginningAction, BeginningNews, NotBegun, Refusal};
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_decide::Operators;
use serde::Serialize;

use crate::deciding::inner::draft;
use crate::inner::json;
use crate::taking_part::inner::AskJson;

/// What is shown to the user.
type Sentence = String;

pub struct Beginning {
    pub machine: visitor::Beginning,
}

#[derive(Serialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
enum BeginningJson {
    Ask(AskJson),
    Keep,
    Forget,
    Stocked,
    Begun,
    Shown,
    Late,
    Failed { failure: FailureJson },
    Doubtful { failure: FailureJson },
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum FailureJson {
    Refused { detail: String },
    Layer { party: u8 },
    Server { party: u8, status: u16, detail: String },
    Away { party: u8 },
    Altered,
    NotKept,
}

impl FailureJson {
    fn of(failure: NotBegun) -> Self {
        match failure {
            NotBegun::Refused(refused) => Self::Refused { detail: refused.to_string() },
            NotBegun::Layer(party) => Self::Layer { party: party.0 },
            NotBegun::Server { party, refusal: Refusal { status, detail } } => {
                Self::Server { party: party.0, status, detail }
            }
            NotBegun::Away(party) => Self::Away { party: party.0 },
            NotBegun::Altered => Self::Altered,
            NotBegun::NotKept => Self::NotKept,
        }
    }
}

impl BeginningJson {
    fn of(action: BeginningAction) -> Self {
        match action {
            BeginningAction::Ask(sending) => Self::Ask(AskJson::of(sending)),
            BeginningAction::Keep => Self::Keep,
            BeginningAction::Forget => Self::Forget,
            BeginningAction::Tell(BeginningNews::Stocked) => Self::Stocked,
            BeginningAction::Tell(BeginningNews::Begun(_)) => Self::Begun,
            BeginningAction::Tell(BeginningNews::Shown) => Self::Shown,
            BeginningAction::Tell(BeginningNews::Late) => Self::Late,
            BeginningAction::Tell(BeginningNews::Failed(failure)) => {
                Self::Failed { failure: FailureJson::of(failure) }
            }
            BeginningAction::Tell(BeginningNews::Doubtful(failure)) => {
                Self::Doubtful { failure: FailureJson::of(failure) }
            }
        }
    }
}

impl Beginning {
    pub fn new(
        operators: Operators,
        creator: &[u8; 32],
        text: &str,
        seed: &[u8],
    ) -> Result<Self, Sentence> {
        let seed = Secret::new(seed.try_into().map_err(|_| "a seed has 32 bytes")?);
        let creator = SigningKey::from_seed(creator);
        let machine = visitor::Beginning::new(operators, creator, draft(text)?, &seed);
        Ok(Self { machine })
    }

    pub fn actions(&mut self) -> String {
        let mut actions = Vec::new();
        while let Some(action) = self.machine.next_action() {
            actions.push(BeginningJson::of(action));
        }
        json(&actions)
    }
}

#[cfg(test)]
mod tests;
