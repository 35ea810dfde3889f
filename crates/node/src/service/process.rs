//! What a process does for its server: everything, or, with PostgreSQL, a part.

use std::sync::Arc;

use ostrakon_party::PartyId;

use crate::config::{Config, ConfigError, Role};
use crate::core::Core;
use crate::intakes::{self, IntakeProcess};
use crate::operator::metrics;
use crate::platform::{Platform, StartError};
use crate::ports::Drivers;
use crate::provider::EngineProvider;
use crate::rooms::taking_part::Source;
use crate::service::server::{self, Server};
use ostrakon_protocol::{Readiness, ServiceError};

/// A process, from its start on.
pub(crate) enum Process {
    Server(Arc<Server>),
    Intake(Arc<IntakeProcess>),
}

impl Process {
    pub async fn start(
        config: Config,
        provider: Arc<dyn EngineProvider>,
        platform: Arc<dyn Platform>,
    ) -> Result<Self, StartError> {
        Ok(match config.process.role {
            Role::All | Role::Engine => {
                Self::Server(server::start(config, provider, platform).await?)
            }
            Role::Intake => Self::Intake(intakes::start(config, provider, platform).await?),
        })
    }

    /// The process as one that serves participants only, if it is one.
    pub fn intake(&self) -> Option<&IntakeProcess> {
        match self {
            Self::Server(_) => None,
            Self::Intake(intake) => Some(intake),
        }
    }

    /// The server, running or not yet.
    pub fn server(&self) -> Result<&Server, ServiceError> {
        match self {
            Self::Server(server) => Ok(server),
            Self::Intake(intake) => Err(intake.elsewhere()),
        }
    }

    /// What works for the running server's jobs.
    pub fn drivers(&self) -> Result<&Drivers, ServiceError> {
        match self {
            Self::Server(server) => server.drivers(),
            Self::Intake(intake) => Err(intake.elsewhere()),
        }
    }

    /// The running server.
    pub fn core(&self) -> Result<&Arc<Core>, ServiceError> {
        match self {
            Self::Server(server) => server.core(),
            Self::Intake(intake) => Err(intake.elsewhere()),
        }
    }

    pub fn config(&self) -> &Config {
        match self {
            Self::Server(server) => server.config(),
            Self::Intake(intake) => intake.config(),
        }
    }

    pub fn is_administrator(&self, token: &str) -> bool {
        match self {
            Self::Server(server) => server.is_administrator(token),
            // It knows no token.
            Self::Intake(_) => false,
        }
    }

    pub fn reload(&self) -> Result<(), ConfigError> {
        match self {
            Self::Server(server) => server.reload(),
            Self::Intake(_) => Ok(()),
        }
    }

    pub fn set_certificate_expires(&self, time: u64) {
        match self {
            Self::Server(server) => server.set_certificate_expires(time),
            Self::Intake(intake) => intake.set_certificate_expires(time),
        }
    }

    pub fn certificate_expires(&self) -> Option<u64> {
        match self {
            Self::Server(server) => server.certificate_expires(),
            Self::Intake(intake) => intake.certificate_expires(),
        }
    }

    pub fn readiness(&self) -> Readiness {
        match self {
            Self::Server(server) => server.readiness(),
            Self::Intake(intake) => intake.readiness(),
        }
    }

    pub fn metrics(&self) -> String {
        match self {
            Self::Server(server) => server.metrics(),
            Self::Intake(intake) => {
                metrics::render_intake(intake.readiness().ready, intake.certificate_expires())
            }
        }
    }

    pub fn set_blocked(&self, peer: PartyId, blocked: bool) {
        if let Self::Server(server) = self {
            server.set_blocked(peer, blocked);
        }
    }

    pub async fn ended(&self) -> String {
        match self {
            Self::Server(server) => server.ended().await,
            // Nothing in its memory matters, so it can always go on.
            Self::Intake(_) => std::future::pending().await,
        }
    }

    pub async fn stop(&self) {
        match self {
            Self::Server(server) => server.stop().await,
            Self::Intake(intake) => intake.stop().await,
        }
    }
}
