//! What a server says of the deployment and of itself.

use serde::{Deserialize, Serialize};

use crate::encoding::base64;

/// Who may create rooms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Create {
    /// The administrator only.
    #[default]
    Administrator,
    /// Whoever has a creation token, too.
    Token,
    /// Everybody, at a limited rate.
    Anyone,
}

/// The servers of the deployment. Who they are can be read where the rest is missing, as in the
/// answer of another version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ServersInfo {
    /// Party number of the server that answers.
    pub you: u8,
    /// The session, hexadecimal, 64 characters.
    pub session: String,
    /// The digest of the servers that room links carry, hexadecimal, 64 characters.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub digest: String,
    /// All servers by party number.
    pub servers: Vec<ServerInfo>,
    /// Version of the software of the server that answers.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub version: String,
    /// Who may create rooms at the server that answers.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub create: Create,
    /// What rooms others than the administrator may create there.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub limits: RoomLimits,
    /// Whether it sends invitations to decisions by e-mail.
    #[serde(default)]
    pub mail: bool,
}

/// The rooms that a server lets others than its administrator create. Pairs are the least and the
/// most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RoomLimits {
    /// Bytes of payload of a row; a multiple of 8.
    pub payload: [u32; 2],
    /// Slots of an epoch.
    pub capacity: [u32; 2],
    /// Seconds of an epoch.
    pub seconds: [u32; 2],
    /// Days for which bodies are kept at most; a room must say how long if this is there.
    pub retention_days: Option<u32>,
}

/// Where a short code leads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CodeInfo {
    /// The room's id, hexadecimal, 32 characters.
    pub room: String,
    /// The digest of the servers that room links carry, hexadecimal, 64 characters.
    pub servers: String,
}

/// One server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ServerInfo {
    /// Party number.
    pub party: u8,
    /// The operator's name for it.
    pub name: String,
    /// Origin of its public interface.
    pub url: String,
    /// Its identity key, hexadecimal, 64 characters.
    pub key: String,
}

/// Another server, as seen by the one that answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PeerStatus {
    /// Party number.
    pub party: u8,
    /// Whether a connection to it stands.
    pub reachable: bool,
}

/// What a misbehaving server left behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FaultInfo {
    /// When the answering server saw it, in seconds since 1970.
    pub seen_at: u64,
    /// Party number of the server.
    pub culprit: u8,
    /// What it did, in words.
    pub what: String,
    /// What it signed, base64url; whoever knows the servers' keys can check it.
    #[serde(with = "base64")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub evidence: Vec<u8>,
}

/// Whether the server can do its work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Readiness {
    /// Set-up has been done and every peer is connected.
    pub ready: bool,
    /// Names of the servers that are not connected.
    pub missing: Vec<String>,
    /// What the server waits for, in words; empty if ready.
    pub detail: String,
    /// When the certificate of its public interface expires, in seconds since 1970, if that is
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_expires: Option<u64>,
}
