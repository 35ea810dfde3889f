//! What a decision is to be, as flags and files say it.

use std::path::Path;

use anyhow::{Context, Result, bail};
use ostrakon_client::asking::{Around, Drafted, Guest, Wish};
use ostrakon_crypto::{Digest, VerifyingKey};
use ostrakon_decide::{Ballot, Function, GatheringId, Tie};
use serde::Deserialize;

use crate::system;

/// A decision that somebody wants to begin.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// What is asked.
    pub question: String,
    /// What is decided.
    pub ballots: Vec<PlannedBallot>,
    /// Who is asked.
    pub people: Vec<Asked>,
    /// Seconds from now until the deadline.
    pub seconds: u64,
    /// Seconds from now until when to accept: half of the time unless given.
    #[serde(default)]
    pub accept_seconds: Option<u64>,
    /// Whether it ends if somebody has not accepted by then. Otherwise it goes on without them.
    #[serde(default)]
    pub all_needed: bool,
    /// How many must answer for a result: half of the people, and at least three where there are
    /// that many, unless given.
    #[serde(default)]
    pub quorum: Option<u16>,
    /// How many servers stand in for whoever stays away.
    #[serde(default = "two")]
    pub threshold: u8,
    /// The join link by which people have asked.
    #[serde(skip)]
    pub gathering: Option<GatheringId>,
}

fn two() -> u8 {
    2
}

/// One ballot.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedBallot {
    /// What it is about, where there are several.
    #[serde(default)]
    pub label: String,
    /// The options.
    pub options: Vec<String>,
    /// As [`function`] reads it.
    pub function: String,
    /// The option that counts for whoever stays away: the first unless given.
    pub assumed: Option<String>,
}

/// Somebody who is asked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Asked {
    /// By a link.
    Name(String),
    /// By an account.
    Account(NamedAccount),
}

impl Asked {
    /// The person's name.
    pub fn name(&self) -> &str {
        match self {
            Asked::Name(name) | Asked::Account(NamedAccount { name, .. }) => name,
        }
    }
}

/// Somebody who is asked by an account.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedAccount {
    /// What the others call the person.
    pub name: String,
    /// The account's key, hexadecimal.
    pub account: String,
}

/// Reads a plan from a file: JSON if its name ends so, TOML otherwise.
///
/// # Errors
/// If it cannot be read or says something else.
pub fn read(path: &Path) -> Result<Plan> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{} cannot be read", path.display()))?;
    let json = path.extension().is_some_and(|extension| extension == "json");
    let plan = if json {
        serde_json::from_str(&text).map_err(anyhow::Error::new)
    } else {
        toml::from_str(&text).map_err(Into::into)
    };
    plan.with_context(|| format!("{} does not describe a decision", path.display()))
}

/// Reads a list of people: one on each line, by name, or by name and account with a comma between.
///
/// # Errors
/// If it cannot be read.
pub fn people(path: &Path) -> Result<Vec<Asked>> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{} cannot be read", path.display()))?;
    Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(asked).collect())
}

/// `NAME` or `NAME,ACCOUNT`.
pub fn asked(line: &str) -> Asked {
    match line.rsplit_once(',') {
        Some((name, account)) if VerifyingKey::from_hex(account.trim()).is_some() => {
            Asked::Account(NamedAccount {
                name: name.trim().to_owned(),
                account: account.trim().to_owned(),
            })
        }
        _ => Asked::Name(line.to_owned()),
    }
}

/// The functions, for `--help`.
pub const FUNCTIONS: &str = "majority, unanimous, at-least:K, veto, parity (each of two options, the second of which is counted), \
                             plurality (the first of equals wins), plurality:none, tally, custom:OUTPUT,OUTPUT,…";

/// Reads a function's name with its parameters.
///
/// # Errors
/// If there is no such function.
pub fn function(text: &str) -> Result<Function> {
    let (name, parameter) =
        text.split_once(':').map_or((text, None), |(name, parameter)| (name, Some(parameter)));
    Ok(match (name, parameter) {
        ("majority", None) => Function::Majority,
        ("unanimous", None) => Function::Unanimous,
        ("veto", None) => Function::Veto,
        ("parity", None) => Function::Parity,
        ("tally", None) => Function::Tally,
        ("plurality", None | Some("first")) => Function::Plurality { tie: Tie::First },
        ("plurality", Some("none")) => Function::Plurality { tie: Tie::None },
        ("at-least", Some(k)) => {
            Function::AtLeast { k: k.parse().context("at-least:K needs a number")? }
        }
        ("custom", Some(outputs)) => {
            let outputs =
                outputs.split(',').map(|output| output.trim().parse()).collect::<Result<_, _>>();
            Function::Custom {
                outputs: outputs.context("the outputs of custom are numbers from 0 to 255")?,
            }
        }
        _ => bail!("{text} is no function; there are: {FUNCTIONS}"),
    })
}

/// The option that a text means: by its words, or by its place from 1.
///
/// # Errors
/// If there is no such option.
pub fn option(options: &[String], text: &str) -> Result<u8> {
    let text = text.trim();
    let place = options.iter().position(|option| option.trim() == text);
    let number =
        || text.parse::<usize>().ok()?.checked_sub(1).filter(|place| *place < options.len());
    let place = place.or_else(number).and_then(|place| u8::try_from(place).ok());
    place.with_context(|| {
        format!(
            "“{text}” is none of the options: {} (or their numbers, from 1)",
            options.join(", ")
        )
    })
}

impl Asked {
    fn guest(&self) -> Result<Guest> {
        let account = match self {
            Asked::Name(_) => None,
            Asked::Account(NamedAccount { name, account }) => {
                let key = VerifyingKey::from_hex(account);
                Some(key.with_context(|| format!("the account of “{name}” is no key"))?)
            }
        };
        Ok(Guest { name: self.name().to_owned(), account })
    }
}

impl Plan {
    /// The draft, with a fresh invitation for everybody who is not named by an account.
    ///
    /// # Errors
    /// If something in it cannot be.
    pub fn draft(&self, creator: VerifyingKey, servers: Digest) -> Result<Drafted> {
        let now = system::unix_time();
        let wish = Wish {
            question: self.question.clone(),
            ballots: self.ballots.iter().map(PlannedBallot::ballot).collect::<Result<_>>()?,
            accept_by: now.saturating_add(self.accept_seconds.unwrap_or(self.seconds / 2)),
            all_needed: self.all_needed,
            quorum: self.quorum,
            deadline: now.saturating_add(self.seconds),
            threshold: self.threshold,
        };
        let guests = self.people.iter().map(Asked::guest).collect::<Result<Vec<_>>>()?;
        let around = Around { creator, servers, gathering: self.gathering };
        Ok(wish.draft(&guests, around, now, &mut system::entropy())?)
    }
}

impl PlannedBallot {
    /// The only one of a decision, between these options; between no and yes if there are none.
    pub fn only(options: &[String], function: &str, assumed: Option<&str>) -> Self {
        let options = match options {
            [] => vec!["no".to_owned(), "yes".to_owned()],
            given => given.to_vec(),
        };
        let assumed = assumed.map(str::to_owned);
        Self { label: String::new(), options, function: function.to_owned(), assumed }
    }

    fn ballot(&self) -> Result<Ballot> {
        let assumed =
            self.assumed.as_ref().map_or(Ok(0), |assumed| option(&self.options, assumed))?;
        let (label, options) = (self.label.clone(), self.options.clone());
        Ok(Ballot { label, options, function: function(&self.function)?, assumed })
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_decide::{Person, Seat};

    use super::*;

    fn plan() -> Plan {
        let ballot = PlannedBallot::only(&[], "majority", Some("yes"));
        let people = vec![Asked::Name("Anna".into()), Asked::Name("Ben".into())];
        Plan {
            question: "Shall we?".into(),
            ballots: vec![ballot],
            people,
            seconds: 60,
            accept_seconds: None,
            all_needed: false,
            quorum: None,
            threshold: 2,
            gathering: None,
        }
    }

    #[test]
    fn functions_are_read_and_others_refused() {
        assert_eq!(function("at-least:3").unwrap(), Function::AtLeast { k: 3 });
        assert_eq!(function("plurality").unwrap(), Function::Plurality { tie: Tie::First });
        assert_eq!(function("plurality:none").unwrap(), Function::Plurality { tie: Tie::None });
        assert_eq!(
            function("custom:0, 1,255").unwrap(),
            Function::Custom { outputs: vec![0, 1, 255] }
        );
        for wrong in
            ["", "most", "majority:2", "at-least", "at-least:x", "custom:256", "plurality:last"]
        {
            assert!(function(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn options_are_meant_by_words_first_and_by_numbers_otherwise() {
        let options = ["2", "1", "neither"].map(String::from);
        assert_eq!(option(&options, "2").unwrap(), 0);
        assert_eq!(option(&options, " neither ").unwrap(), 2);
        assert_eq!(option(&options, "3").unwrap(), 2);
        for wrong in ["", "0", "4", "nobody"] {
            assert!(
                option(&options, wrong).unwrap_err().to_string().contains("none of the options"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_file_and_the_flags_say_the_same_and_what_is_unknown_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("plan.toml");
        let text = "question = \"Shall we?\"\npeople = [\"Anna\", \"Ben\"]\nseconds = 60\n[[ballots]]\noptions = [\"no\", \"yes\"]\nfunction = \"majority\"\nassumed = \"yes\"\n";
        std::fs::write(&path, text).unwrap();
        assert_eq!(read(&path).unwrap(), plan());
        std::fs::write(&path, text.replace("assumed", "asumed")).unwrap();
        assert!(format!("{:#}", read(&path).unwrap_err()).contains("asumed"));
    }

    #[test]
    fn a_draft_has_an_invitation_for_each_person_without_an_account() {
        let account = VerifyingKey([7; 32]);
        let mut plan = plan();
        plan.people.push(asked(&format!("Clio, {}", account.to_hex())));
        let made = |plan: &Plan| plan.draft(VerifyingKey([1; 32]), Digest([2; 32]));
        let Drafted { draft, invitations } = made(&plan).unwrap();
        assert_eq!(draft.people[2], Person { name: "Clio".into(), seat: Seat::Account(account) });
        assert_eq!(draft.ballots[0].assumed, 1);
        let seat =
            |i: usize| Seat::Invitation(invitations[i].as_ref().unwrap().key().verifying_key());
        assert_eq!(
            (draft.people[0].seat, draft.people[1].seat, invitations.len()),
            (seat(0), seat(1), 3)
        );
        assert!(invitations[2].is_none());
        plan.people[1] = Asked::Name("anna".into());
        let error = made(&plan).unwrap_err();
        assert!(error.to_string().contains("two people are called “anna”"), "{error}");
        plan.people.truncate(1);
        assert!(made(&plan).is_err(), "one person decides nothing");
    }
}
