//! Who may take part in a room of members: keys that hosts admitted, and keys that claimed an
//! invitation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostrakon_crypto::VerifyingKey;

use super::refused::{InvalidDeed, MostActions, Refused};

/// Members of a room at most, invitations that nobody has claimed included; and claims at most.
pub const MOST_MEMBERS: usize = 20_000;

/// An invitation that hosts made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// Counted from 1, in the order in which they were made.
    pub number: u32,
    /// The key that claimed it.
    pub claimed: Option<VerifyingKey>,
    /// Whether it was not dismissed.
    pub active: bool,
}

/// A key is one thing at a time: an invitation, a key that claimed one, or a key that was admitted
/// for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// Who may have slots. Shared with whoever keeps it as it was at some time.
    active: Arc<BTreeSet<VerifyingKey>>,
    invitations: BTreeMap<VerifyingKey, Invitation>,
    /// The invitations of the keys that claimed one, those of dismissed ones included: a claim
    /// stands for good.
    claims: BTreeMap<VerifyingKey, VerifyingKey>,
    made: u32,
}

impl Members {
    pub fn active(&self) -> &Arc<BTreeSet<VerifyingKey>> {
        &self.active
    }

    pub fn invitations(&self) -> &BTreeMap<VerifyingKey, Invitation> {
        &self.invitations
    }

    /// The invitation that the key claimed.
    pub fn invitation_of(&self, key: &VerifyingKey) -> Option<&VerifyingKey> {
        self.claims.get(key)
    }

    /// Claims taken, those of dismissed invitations included.
    pub fn claims(&self) -> usize {
        self.claims.len()
    }

    /// Whether there is room for as many keys more.
    fn has_room(&self, more: usize) -> Result<(), Refused> {
        let open = self
            .invitations
            .values()
            .filter(|invitation| invitation.active && invitation.claimed.is_none());
        if self.active.len() + open.count() + more > MOST_MEMBERS {
            return Err(MostActions("members").into());
        }
        Ok(())
    }

    pub fn check_admit(&self, keys: &[VerifyingKey]) -> Result<(), Refused> {
        if keys
            .iter()
            .any(|key| self.invitations.contains_key(key) || self.claims.contains_key(key))
        {
            return Err(InvalidDeed(
                "one of the keys is an invitation's or has claimed one: admit keys that people's own pages show".into(),
            )
            .into());
        }
        self.has_room(keys.len())
    }

    pub fn admit(&mut self, keys: &[VerifyingKey]) {
        Arc::make_mut(&mut self.active).extend(keys);
    }

    pub fn check_invite(&self, keys: &[VerifyingKey]) -> Result<(), Refused> {
        if keys.iter().any(|key| self.active.contains(key) || self.claims.contains_key(key)) {
            return Err(InvalidDeed(
                "one of the keys is a member's: an invitation needs a fresh one".into(),
            )
            .into());
        }
        self.has_room(keys.len())
    }

    pub fn invite(&mut self, keys: &[VerifyingKey]) {
        for key in keys {
            let made = &mut self.made;
            let invitation = self.invitations.entry(*key).or_insert_with(|| {
                *made += 1;
                Invitation { number: *made, claimed: None, active: true }
            });
            invitation.active = true;
            if let Some(claimed) = invitation.claimed {
                Arc::make_mut(&mut self.active).insert(claimed);
            }
        }
    }

    pub fn check_claim(
        &self,
        invitation: &VerifyingKey,
        key: &VerifyingKey,
    ) -> Result<(), Refused> {
        let known = self
            .invitations
            .get(invitation)
            .filter(|known| known.active)
            .ok_or(Refused::NotInvited)?;
        if known.claimed.is_some() {
            return Err(Refused::Claimed);
        }
        if self.active.contains(key)
            || self.claims.contains_key(key)
            || self.invitations.contains_key(key)
        {
            return Err(Refused::KeyInUse);
        }
        if self.claims.len() >= MOST_MEMBERS {
            return Err(MostActions("claims of invitations").into());
        }
        Ok(())
    }

    pub fn claim(&mut self, invitation: &VerifyingKey, key: VerifyingKey) {
        if let Some(known) = self.invitations.get_mut(invitation) {
            known.claimed = Some(key);
            self.claims.insert(key, *invitation);
            Arc::make_mut(&mut self.active).insert(key);
        }
    }

    /// Takes keys out; that of an invitation and that which claimed it both stand for both.
    pub fn dismiss(&mut self, keys: &[VerifyingKey]) {
        let active = Arc::make_mut(&mut self.active);
        for key in keys {
            let invitation = self.claims.get(key).unwrap_or(key);
            match self.invitations.get_mut(invitation) {
                None => {
                    active.remove(key);
                }
                Some(known) => match known.claimed {
                    None => {
                        self.invitations.remove(invitation);
                    }
                    Some(claimed) => {
                        known.active = false;
                        active.remove(&claimed);
                    }
                },
            }
        }
    }

    /// Who takes part because of these admitted or invited keys, now that they were taken.
    pub fn standing_for(&self, keys: &[VerifyingKey]) -> Vec<VerifyingKey> {
        let member = |key: &VerifyingKey| match self.invitations.get(key) {
            None => Some(*key),
            Some(invitation) => invitation.claimed,
        };
        keys.iter().filter_map(member).collect()
    }
}
