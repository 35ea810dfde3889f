//! How many of a deployment's servers must say a thing, and how many are waited for: asked here and
//! nowhere else. Pure.
//!
//! A number that is too small works until the day it is attacked, so the table test below says what
//! every trust answers for every number of servers.

use std::collections::BTreeMap;

use ostrakon_mixing::EngineKind;
use ostrakon_party::Trust;

/// What the engines of a deployment bear, and its ledger of announcements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trusts {
    ledger: Trust,
    engines: BTreeMap<EngineKind, Trust>,
}

impl Trusts {
    /// The trust of each engine among so many servers.
    ///
    /// # Errors
    /// Why they cannot be a deployment, in words.
    pub fn new(
        parties: usize,
        engines: impl IntoIterator<Item = (EngineKind, Trust)>,
    ) -> Result<Self, String> {
        // The ledger bears all but one, hence whatever an engine does.
        let ledger = Trust::all_but_one(parties).map_err(|error| error.to_string())?;
        let engines: BTreeMap<_, _> = engines.into_iter().collect();
        if parties < 2 || engines.is_empty() {
            return Err(format!("{parties} servers are no deployment: no engine is for so many"));
        }
        for (kind, trust) in &engines {
            if trust.parties() != parties || trust.corrupt() > ledger.corrupt() {
                return Err(format!("the engine {kind:?} is not one for {parties} servers"));
            }
        }
        Ok(Self { ledger, engines })
    }

    /// How many servers there are.
    pub fn parties(&self) -> usize {
        self.ledger.parties()
    }

    /// What the ledger of announcements bears.
    pub fn ledger(&self) -> Trust {
        self.ledger
    }

    /// Whether the deployment has this engine.
    pub fn has(&self, kind: EngineKind) -> bool {
        self.engines.contains_key(&kind)
    }

    /// What an engine bears. Of one that the deployment does not have nobody is believed alone.
    pub fn of(&self, kind: EngineKind) -> Trust {
        self.engines.get(&kind).copied().unwrap_or(self.ledger)
    }
}

/// Signatures that publish an entry: one of them is of an honest server.
pub fn publish(trust: &Trust) -> usize {
    trust.believed()
}

/// Refusals after which nothing is published: one of them is of an honest server, and those who are
/// left are too few to publish, even if each has refused to one server and signed for another.
pub fn refuse(trust: &Trust) -> usize {
    let left_too_few = trust.parties() + 1 - publish(trust);
    left_too_few.max(trust.believed())
}

/// Servers whose echo makes an announcement stand, its author and oneself included.
pub fn echo(trusts: &Trusts) -> usize {
    trusts.ledger().awaited()
}

/// Servers that must hold a batch before an epoch is opened with it, and say that an epoch is due
/// before it is closed.
pub fn take_part(trust: &Trust) -> usize {
    trust.awaited()
}

/// States that a renewal needs: of all servers but the one that has lost its data.
pub fn renew(trusts: &Trusts) -> usize {
    trusts.parties() - 1
}

#[cfg(test)]
pub(crate) mod tests {
    use ostrakon_party::Delivery;

    use super::*;

    const RUFFLE: EngineKind = EngineKind::Ruffle;

    /// Of three servers with every engine.
    pub fn three() -> Trusts {
        Trusts::new(3, EngineKind::ALL.map(|kind| (kind, Trust::one_of_three()))).unwrap()
    }

    /// (publish, refuse, take part, echo, renew) of an engine among so many servers.
    fn row(parties: usize, corrupt: usize) -> (usize, usize, usize, usize, usize) {
        let trust = Trust::new(parties, corrupt, Delivery::Stoppable).unwrap();
        let trusts = Trusts::new(parties, [(RUFFLE, trust)]).unwrap();
        let trust = trusts.of(RUFFLE);
        (publish(&trust), refuse(&trust), take_part(&trust), echo(&trusts), renew(&trusts))
    }

    #[test]
    fn every_count_for_every_trust_and_number_of_servers() {
        for kind in EngineKind::ALL {
            let trust = ostrakon_mixing::engines::trust(kind, 3).unwrap();
            assert_eq!((trust.parties(), trust.corrupt()), (3, 1), "{kind:?}");
        }
        let table = [
            ((2, 1), (2, 2, 2, 2, 1)),
            ((3, 1), (2, 2, 3, 3, 2)),
            ((4, 1), (2, 3, 4, 4, 3)),
            ((5, 2), (3, 3, 5, 5, 4)),
            ((7, 3), (4, 4, 7, 7, 6)),
            ((3, 2), (3, 3, 3, 3, 2)),
            ((5, 4), (5, 5, 5, 5, 4)),
            ((7, 6), (7, 7, 7, 7, 6)),
        ];
        for ((parties, corrupt), expected) in table {
            assert_eq!(row(parties, corrupt), expected, "{corrupt} of {parties}");
        }
        for parties in 2..=16 {
            for corrupt in 0..parties {
                let (publish, refuse, take_part, echo, renew) = row(parties, corrupt);
                let of = format!("{corrupt} of {parties}");
                assert!(publish > corrupt && publish <= parties, "{of}: a signer is honest");
                assert!(refuse > corrupt && refuse <= parties, "{of}: one who refuses is honest");
                assert!(parties - refuse < publish, "{of}: the others cannot publish");
                assert_eq!((take_part, echo, renew), (parties, parties, parties - 1), "{of}");
            }
        }
    }

    /// Honest servers that found the same are never split: with all that corrupt ones can say, to
    /// each of them something else.
    #[test]
    fn no_two_honest_servers_publish_and_refuse_what_both_found() {
        for parties in 2..=9 {
            for corrupt in 0..parties {
                let (publish, refuse, ..) = row(parties, corrupt);
                let honest = parties - corrupt;
                assert!(corrupt < refuse, "what all honest found is never refused");
                assert!(corrupt < publish, "what all honest refused is never published");
                assert!(honest + corrupt >= publish.max(refuse), "and all together decide");
            }
        }
    }

    #[test]
    fn engines_for_another_number_are_no_deployment() {
        let three = Trust::one_of_three();
        for parties in [0, 1, 2, 4, 5] {
            assert!(Trusts::new(parties, [(RUFFLE, three)]).is_err(), "{parties}");
        }
        assert!(Trusts::new(3, []).is_err());
        let trusts = Trusts::new(3, [(RUFFLE, three)]).unwrap();
        assert!(trusts.has(RUFFLE) && !trusts.has(EngineKind::Clarion));
        assert_eq!(trusts.of(EngineKind::Clarion).believed(), 3, "nobody is believed alone");
    }
}
