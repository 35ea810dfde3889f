//! What the operator of a server of a room without a clock sees.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use ostrakon_asynchromix::visitor::SPOILT;
use ostrakon_mixer::Stands;
use ostrakon_party::PartyId;
use serde_json::{Value, json};

use crate::extract::OperatorToken;
use crate::problem::Problem;

use super::Served;

/// Commits by which a server is behind the room that is catching up. Who keeps pace is a few
/// behind, as all are at different moments.
const BEHIND: u64 = 16;

/// What a server has of its machine; what cannot be found out is left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Machine {
    /// Bytes of memory that the process has.
    pub memory: Option<u64>,
    /// Bytes that are free, and all bytes, of the disk on which the data are.
    pub disk: Option<(u64, u64)>,
}

/// What the server's operator has.
#[derive(Clone)]
pub struct MixerOperating {
    /// Looks at the machine.
    pub machine: Arc<dyn Fn() -> Machine + Send + Sync>,
    /// The operator's token.
    pub token: OperatorToken,
}

/// How a server stands, of which the operator's page says more than yes or no.
fn stands(stands: Stands) -> &'static str {
    match stands {
        Stands::Founding => "founding",
        Stands::Asking => "asking",
        Stands::DataLost => "data-lost",
        Stands::Runs => "runs",
    }
}

/// The server at a glance, for its operator.
pub(super) async fn overview(
    State(served): State<Served>,
    headers: HeaderMap,
) -> Result<Json<Value>, Problem> {
    served.operating.token.check(&headers)?;
    let room = served.visits.room();
    let health = served.visits.health();
    let own = served.visits.me();
    let farthest = health.farthest(room);
    let server = |(party, card): (PartyId, &ostrakon_asynchromix::Card)| {
        let is_own = party == own;
        let told = health.commits_of.get(&party).copied();
        let commits = if is_own { Some(health.commits) } else { told };
        let behind = commits.map(|commits| farthest.saturating_sub(commits));
        let linked = is_own || !health.missing.contains(&party);
        let state = match behind {
            _ if !linked => "away",
            Some(behind) if behind <= BEHIND => "fine",
            // Who has said nothing of itself yet has just come.
            Some(_) | None => "catching-up",
        };
        json!({
            "name": card.name,
            "url": card.url,
            "own": is_own,
            "state": state,
            "behind": behind,
            "convicted": health.convicted.get(&party).map(|of| of.deed),
            "lacking": health.spoilt >= SPOILT && health.lacking.contains(&party),
        })
    };
    let servers = room.parties().zip(&served.description.servers).map(server);
    let machine = (served.operating.machine)();
    Ok(Json(json!({
        "name": served.description.name,
        "room": room.digest().to_hex(),
        "stands": stands(health.stands),
        "corrupt": served.description.corrupt,
        "servers": servers.collect::<Vec<_>>(),
        "commits": health.commits,
        "entries": health.entries,
        "collecting": health.collecting.map(|of| {
            json!({ "epoch": of.epoch, "places": of.places, "rows": of.rows })
        }),
        "mixing": health.mixing,
        "ready": health.ready,
        "ended": health.ended(room),
        "spoilt": health.spoilt,
        "journal": health.journal,
        "messages": health.messages,
        "memory": machine.memory,
        "disk": machine.disk.map(|(free, total)| json!({ "free": free, "total": total })),
    })))
}
