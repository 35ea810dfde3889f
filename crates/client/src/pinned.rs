//! Who the servers of a deployment are, by the word of one of them.

use ostrakon_crypto::{Digest, VerifyingKey};
use ostrakon_mixing::Servers;
use ostrakon_party::SessionId;
use ostrakon_protocol::ServersInfo;

/// Most servers that a list may name.
const MOST: usize = 128;

/// The servers that one of them lists, as links pin them: who believes it compares their digest
/// with a link's, or with what the others say. `None` if the list is malformed.
pub fn servers_of(info: &ServersInfo) -> Option<Servers> {
    let session = SessionId(Digest::from_hex(&info.session)?);
    let is_in_order = (0..).zip(&info.servers).all(|(party, server)| party == server.party);
    let keys: Option<Vec<_>> =
        info.servers.iter().map(|server| VerifyingKey::from_hex(&server.key)).collect();
    let keys = keys.filter(|keys| is_in_order && (1..=MOST).contains(&keys.len()))?;
    Some(Servers { session, keys })
}
