//! A participant of a Ruffle room.

use ostrakon_crypto::SigningKey;
use ostrakon_party::wire;
use ostrakon_replicated::client::{self, MaskError, SlotName};
use ostrakon_replicated::slots::Issue;

use crate::engine::{ClientEngine, EpochContext, IssueError, context_digest};
use crate::room::Servers;

/// Masks a row with what three Ruffle servers gave for its slot.
pub struct RuffleClient;

impl ClientEngine for RuffleClient {
    fn submit(
        &self,
        servers: &Servers,
        context: &EpochContext,
        slot: u32,
        issues: &[Option<Vec<u8>>],
        row: &[u8],
        key: &SigningKey,
    ) -> Result<Vec<u8>, IssueError> {
        let mut read: [Option<Issue>; 3] = [None, None, None];
        for (place, bytes) in read.iter_mut().zip(issues) {
            // What one server spoils is as if it had not answered: the two others may suffice.
            *place = bytes.as_ref().and_then(|bytes| wire::decode(bytes).ok());
        }
        let digest = context_digest(&servers.session, context);
        let name = SlotName {
            session: &servers.session.0,
            batch: context.batch,
            context: &digest,
            rows: context.shape.rows,
            slot,
        };
        let seeds = client::combine(name, [read[0].as_ref(), read[1].as_ref(), read[2].as_ref()]);
        let seeds = seeds.map_err(|error| match error {
            MaskError::Incomplete(_) | MaskError::Contradiction(_) => IssueError::Incomplete,
        })?;
        Ok(client::submit(name, &seeds, row, key).into_bytes())
    }
}
