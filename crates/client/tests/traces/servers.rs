//! What servers say of themselves, for scripts.

use ostrakon_party::Servers;
use serde_json::{Value, json};

/// The answer of `GET /api/v1/servers` of the first of these servers.
pub fn servers_answer(servers: &Servers) -> Value {
    let server = |(party, key): (u8, &ostrakon_crypto::VerifyingKey)| {
        let (url, key) = (format!("http://p{party}.example"), key.to_hex());
        json!({"party": party, "name": "n", "url": url, "key": key})
    };
    let list: Vec<_> = (0..).zip(&servers.keys).map(server).collect();
    let (session, digest) = (servers.session.0.to_hex(), servers.digest().to_hex());
    let limits = json!({"payload": [32, 32], "capacity": [9, 9], "seconds": [1, 60]});
    json!({
        "you": 0, "session": session, "digest": digest, "servers": list, "version": "0.1.0",
        "create": "administrator", "limits": limits,
    })
}
