//! Whether a server's data are as new as what it has said: it asks before it speaks.
//!
//! A copy of the data that is put back knows less than the server has said since. Numbered anew,
//! its announcements would contradict the earlier ones, and epochs would be computed again without
//! the marks that bind it. So every server tells the others, with what it tells of itself, how far
//! it has got with each log of announcements ([`Progress`]); and after a restart it says nothing
//! before all have told it, and nothing at all if one of them has heard more of it than its data
//! know ([`Standing::Stale`]). Reading and taking in go on meanwhile.
//!
//! Some of them may be corrupt. One can claim to have heard more, and so silence the server: that
//! is no more than not to answer. It can hide what it has heard; but of what all received, or was
//! delivered, an honest one knows.

use std::time::Duration;

use ostrakon_party::PartyId;
use tokio::sync::watch;

use crate::core::Core;
use crate::memory::introduction::{About, Progress, Standing};

/// How often it is looked whether the others have introduced themselves.
const LOOK: Duration = Duration::from_millis(100);

/// Waits until all others have said how far they are, and decides whether this server may speak.
pub(crate) async fn decide(core: &Core) -> Standing {
    loop {
        let known = core.mesh.acquaintances();
        let said = |peer: PartyId| Some((peer, About::read(&known.get(&peer)?.about)?.progress?));
        let said: Option<Vec<_>> = core.party.peers().map(said).collect();
        if let Some(standing) = said.and_then(|said| judge(core, &said)) {
            return standing;
        }
        core.platform.sleep(LOOK).await;
    }
}

/// The standing of a server that has written its state for a renewal.
pub(crate) fn closed() -> Standing {
    Standing::Stale(
        "this server has written its state for a renewal, and says nothing before it has begun the next generation: \
         stop it and run `ostrakon renewal begin` (docs/operating.md, A server's data are lost)"
            .into(),
    )
}

/// What follows from what all others say; nothing as long as one has not come to this server's
/// generation.
fn judge(core: &Core, said: &[(PartyId, Progress)]) -> Option<Standing> {
    let own = core.introduction.progress();
    for (peer, theirs) in said {
        let name = &core.config.servers[peer.index()].name;
        if theirs.generation > own.generation {
            return Some(Standing::Stale(format!(
                "{name} is in generation {}, the data of this server are of generation {}: they are an old copy, or a renewal \
                 is not finished here (`ostrakon renewal begin`; docs/operating.md, A server's data are lost)",
                theirs.generation, own.generation
            )));
        }
        if theirs.generation == own.generation && theirs.state != own.state {
            return Some(Standing::Stale(format!(
                "{name} began generation {} with another state: compare the digests that `ostrakon renewal begin` printed, \
                 and find out who used which files",
                own.generation
            )));
        }
        if let Some(missing) = own.behind(core.me(), *peer, theirs) {
            return Some(Standing::Stale(complaint(core, *peer, missing)));
        }
    }
    said.iter().all(|(_, theirs)| theirs.generation == own.generation).then_some(Standing::Fresh)
}

fn complaint(core: &Core, peer: PartyId, (author, said, here): (PartyId, u64, u64)) -> String {
    let name = |party: PartyId| core.config.servers[party.index()].name.as_str();
    let whose = if author == core.me() {
        "this server".to_owned()
    } else {
        format!("{} to this server", name(author))
    };
    format!(
        "the data are older than what this server has said: {} knows of {said} announcements of {whose}, the data of {here}. \
         If an old copy of the data was put back, put the newest one there; if that is lost, the servers go on by a renewal \
         (`ostrakon renewal`; docs/operating.md, A server's data are lost). Until then this server says nothing to the others",
        name(peer)
    )
}

/// Resolves when this server may speak.
///
/// # Errors
/// Why it may not, in words; also if the server is being stopped.
pub(crate) async fn allowed(standing: &watch::Sender<Standing>) -> Result<(), String> {
    let mut standing = standing.subscribe();
    let decided = standing.wait_for(|standing| *standing != Standing::Unknown).await;
    match decided.as_deref() {
        Ok(Standing::Stale(why)) => Err(why.clone()),
        Ok(_) => Ok(()),
        Err(_) => Err("the server is being stopped".into()),
    }
}
