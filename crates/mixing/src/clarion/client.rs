//! A participant of a Clarion room.

use ostrakon_additive::client::{OwnSeeds, RegistrationName, SlotName, register, submit};
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_party::PartyId;

use super::ISSUE;
use crate::engine::{ClientEngine, EpochContext, IssueError, context_digest};
use crate::room::Servers;

/// Registers and pads a row with what three Clarion servers gave for its slot. Needs all three.
pub struct ClarionClient;

impl ClientEngine for ClarionClient {
    fn submit(
        &self,
        servers: &Servers,
        context: &EpochContext,
        slot: u32,
        issues: &[Option<Vec<u8>>],
        row: &[u8],
        key: &SigningKey,
    ) -> Result<Vec<u8>, IssueError> {
        let mut publics = [[0; ISSUE]; 3];
        for (party, public) in (0..).zip(&mut publics) {
            let given = issues.get(usize::from(party)).and_then(Option::as_ref);
            let given = given.ok_or(IssueError::Incomplete)?;
            *public = given.as_slice().try_into().map_err(|_| IssueError::Bad(PartyId(party)))?;
        }
        let deployment = &servers.session.0;
        let digest = context_digest(&servers.session, context);
        let name =
            RegistrationName { deployment, context: &digest, number: slot, servers: &publics };
        let (registration, mut seeds): (_, OwnSeeds) =
            register(name, key, &randomness(key, &digest.0, slot, &publics, row));
        let handed_in = registration.name();
        let name = SlotName { context: &digest, slot, registration: &handed_in };
        let submission = submit(name, &mut seeds, row, key);
        Ok([registration.to_bytes(), submission.to_bytes()].concat())
    }
}

/// The same for the same row, so that whoever makes its submission a second time, after a reload
/// say, hands in the same bytes; another for anything else, so that no pad hides two rows.
fn randomness(
    key: &SigningKey,
    context: &[u8; 32],
    slot: u32,
    publics: &[[u8; ISSUE]; 3],
    row: &[u8],
) -> Secret {
    let fields: [&[u8]; 6] =
        [context, &slot.to_le_bytes(), &publics[0], &publics[1], &publics[2], row];
    key.derive("ostrakon/v1/clarion/participant's randomness", &fields)
}
