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

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ostrakon_crypto::Digest;
use ostrakon_party::PartyId;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::core::Core;
use crate::operator::About;
use crate::platform::{Links, Platform};

/// How often it is looked whether the others have introduced themselves.
const LOOK: Duration = Duration::from_millis(100);

/// How far a server is with the logs of announcements, by author.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// The generation.
    pub generation: u32,
    /// The digest of the state with which it began; none for the first.
    pub state: Option<Digest>,
    /// Announcements written down.
    pub kept: Vec<u64>,
    /// Announcements delivered: all receivers have written them down.
    pub delivered: Vec<u64>,
}

impl Progress {
    /// What `peer` has heard, or knows `me` to have written down, and `self`, which is `me`'s, does
    /// not hold: whose log, how far the peer says that it goes, and how far it goes here.
    pub fn behind(&self, me: PartyId, peer: PartyId, theirs: &Self) -> Option<(PartyId, u64, u64)> {
        // Of its own announcements the peer does not say who has them.
        let authors = (0u8..).map(PartyId).zip(&self.kept);
        authors.filter(|(author, _)| *author != peer).find_map(|(author, kept)| {
            let lists = if author == me { &theirs.kept } else { &theirs.delivered };
            // A log of which it says nothing it does not know.
            let said = lists.get(author.index()).copied().unwrap_or(0);
            (said > *kept).then_some((author, said, *kept))
        })
    }
}

/// Whether this server may say anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Not all others have said how far they are.
    Unknown,
    /// Its data are as new as they know.
    Fresh,
    /// Its data are older than what it has said, in words for its operator.
    Stale(String),
}

/// What the others are told of this server.
pub(crate) struct Introduction {
    links: Arc<dyn Links>,
    platform: Arc<dyn Platform>,
    about: Mutex<About>,
}

impl Introduction {
    /// Introduces this server, so far without saying how far it is.
    pub fn new(links: Arc<dyn Links>, platform: Arc<dyn Platform>) -> Self {
        let introduction = Self { links, platform, about: Mutex::new(About::of_this()) };
        introduction.change(|_| {});
        introduction
    }

    /// Says something else from now on.
    pub fn change(&self, change: impl FnOnce(&mut About)) {
        let mut about = self.about.lock().expect("no panic while held");
        change(&mut about);
        let platform = Arc::clone(&self.platform);
        self.links.introduce(about.encode().into(), Arc::new(move || platform.now_ms()));
    }

    /// Notes an announcement that is on disk.
    pub fn kept(&self, author: PartyId, number: u64) {
        self.progressed(|progress| {
            let kept = at(&mut progress.kept, author);
            *kept = number.saturating_add(1).max(*kept);
        });
    }

    /// Notes an announcement that was delivered.
    pub fn delivered(&self, author: PartyId, number: u64) {
        self.progressed(|progress| *at(&mut progress.delivered, author) = number + 1);
    }

    fn progressed(&self, change: impl FnOnce(&mut Progress)) {
        self.change(|about| change(about.progress.get_or_insert_default()));
    }

    /// How far this server is.
    pub fn progress(&self) -> Progress {
        self.about.lock().expect("no panic while held").progress.clone().unwrap_or_default()
    }
}

/// A server's place in a list that has one for each.
fn at(list: &mut Vec<u64>, author: PartyId) -> &mut u64 {
    if list.len() <= author.index() {
        list.resize(author.index() + 1, 0);
    }
    &mut list[author.index()]
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_heard_more_than_the_data_know_is_believed() {
        let (me, peer, third) = (PartyId(0), PartyId(1), 2);
        let own = Progress { kept: vec![5, 5, 5], delivered: vec![5, 5, 4], ..Progress::default() };
        let after = |change: fn(&mut Progress)| {
            let (kept, delivered) = (vec![5, 7, 6], vec![4, 7, 5]);
            let mut theirs = Progress { kept, delivered, ..Progress::default() };
            change(&mut theirs);
            own.behind(me, peer, &theirs)
        };
        assert_eq!(after(|_| {}), None, "it need not have what the others have not agreed on");
        assert_eq!(after(|theirs| theirs.kept[0] = 6), Some((me, 6, 5)));
        assert_eq!(after(|theirs| theirs.delivered[2] = 6), Some((PartyId(third), 6, 5)));
        assert_eq!(after(|theirs| theirs.delivered.clear()), None, "who says nothing of a log");
        let more = after(|theirs| (theirs.kept, theirs.delivered) = (vec![9; 4], vec![9; 4]));
        assert_eq!(more, Some((me, 9, 5)), "nor is there a fourth server");
    }
}
