//! How a one-time key is made and certified (`docs/spec/decide.md`, steps 2 and 3).

use ostrakon_crypto::{Signature, SigningKey, Stream};
use ostrakon_decide::keys::certify;
use ostrakon_decide::keys::shares::new_key;
use ostrakon_decide::operators::SERVERS;
use ostrakon_decide::{CertifiedKey, HelperKey, InvalidKey, NewKey, Operators, Serial};
use ostrakon_party::{PartyId, wire};
use rand_core::Rng;

use super::news::Failure;
use super::request::{Answer, Call};
use crate::pauses::{Draws, Errand};
use crate::time::Millis;

/// How often a server is asked for the same thing before it counts as away.
const ATTEMPTS: u32 = 7;

/// What each server is asked for, one thing after the other.
enum Stage {
    /// Their keys for shares.
    Helpers(Vec<Option<HelperKey>>),
    /// To keep their shares.
    Deposits(Box<NewKey>, Vec<Option<Signature>>),
}

/// A one-time key that is being made.
pub struct Making {
    /// How many servers can stand in for the owner, and until when they keep the shares, in seconds
    /// since 1970.
    terms: (u8, u64),
    stage: Stage,
    errands: Vec<Errand>,
    attempts: Vec<u32>,
}

/// With whom, for whom, and by what chance a key is made.
pub struct Maker<'a> {
    pub operators: &'a Operators,
    pub owner: &'a SigningKey,
    pub rng: &'a mut Stream,
}

impl Making {
    /// With these terms; nothing is asked yet.
    pub fn new(terms: (u8, u64)) -> Self {
        // With threshold 0 no server holds anything of it.
        let holders = if terms.0 == 0 { 0 } else { SERVERS };
        Self {
            terms,
            stage: Stage::Helpers(vec![None; holders]),
            errands: (0..holders).map(|_| Errand::new()).collect(),
            attempts: vec![0; holders],
        }
    }

    /// What is to be asked now.
    pub fn calls(&mut self, now: Millis) -> Vec<(PartyId, Call)> {
        let mut calls = Vec::new();
        for (place, errand) in self.errands.iter_mut().enumerate() {
            if errand.due().is_none_or(|due| due > now) {
                continue;
            }
            errand.asked();
            self.attempts[place] += 1;
            let call = match &self.stage {
                Stage::Helpers(_) => Call::Helper,
                Stage::Deposits(key, _) => Call::Deposit(wire::encode(&key.deposits[place])),
            };
            calls.push((PartyId(u8::try_from(place).expect("three servers")), call));
        }
        calls
    }

    /// When something is to be asked next; `None` while all are asked.
    pub fn due(&self) -> Option<Millis> {
        self.errands.iter().filter_map(Errand::due).min()
    }

    /// What a server said. What passes by itself is asked for again, a few times.
    ///
    /// # Errors
    /// A server refuses, or is away.
    pub fn answered(
        &mut self,
        now: Millis,
        party: PartyId,
        answer: Answer,
        draws: &mut Draws,
    ) -> Result<(), Failure> {
        let place = party.index();
        match (&mut self.stage, answer) {
            (Stage::Helpers(helpers), Answer::Helper(key)) => helpers[place] = Some(key),
            (Stage::Deposits(_, receipts), Answer::Deposited(receipt)) => {
                receipts[place] = Some(receipt);
            }
            (_, Answer::Refused(refusal)) if !refusal.passes() => {
                return Err(Failure::Server { party, refusal });
            }
            (_, answer) if self.attempts[place] < ATTEMPTS => {
                drop(answer);
                self.errands[place].again(now, draws);
                return Ok(());
            }
            _ => return Err(Failure::Away(party)),
        }
        self.errands[place].done();
        Ok(())
    }

    /// Goes on once all servers have answered: the certified key at the end.
    ///
    /// # Errors
    /// What a server gave is not genuine.
    pub fn proceed(&mut self, maker: &mut Maker) -> Result<Option<CertifiedKey>, InvalidKey> {
        if let Stage::Helpers(helpers) = &self.stage
            && let Some(helpers) = helpers.iter().copied().collect::<Option<Vec<_>>>()
        {
            let mut serial = Serial([0; 16]);
            maker.rng.fill_bytes(&mut serial.0);
            let Maker { operators, owner, rng } = maker;
            let key = new_key(owner, serial, self.terms, operators, &helpers, rng)?;
            let holders = key.deposits.len();
            self.stage = Stage::Deposits(Box::new(key), vec![None; holders]);
            self.errands = (0..holders).map(|_| Errand::new()).collect();
            self.attempts = vec![0; holders];
        }
        match &self.stage {
            Stage::Deposits(key, receipts) => {
                let Some(receipts) = receipts.iter().copied().collect::<Option<Vec<_>>>() else {
                    return Ok(None);
                };
                certify(maker.owner, key.statement.clone(), receipts, maker.operators).map(Some)
            }
            Stage::Helpers(_) => Ok(None),
        }
    }
}
