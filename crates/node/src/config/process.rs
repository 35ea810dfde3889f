//! Which part of a server a process is: the table `[process]` of the configuration.

use serde::{Deserialize, Serialize};

/// What a process does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Everything, alone.
    #[default]
    All,
    /// Everything, and shares its database with intake processes.
    Engine,
    /// Serves participants beside an engine; has no key.
    Intake,
}

/// Settings of one process of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProcessSettings {
    /// What it does.
    pub role: Role,
    /// Of an intake process: where its server's engine process is asked for what intake processes
    /// do not do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
}

impl ProcessSettings {
    /// Whether nothing is set.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
