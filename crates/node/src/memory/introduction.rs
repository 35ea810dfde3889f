//! What a server tells the others of itself, and whether it may say anything else.

use std::sync::{Arc, Mutex};

use ostrakon_crypto::{Digest, Transcript};
use ostrakon_mixing::room::RoomId;
use ostrakon_party::{Instance, InstanceKind, PartyId, wire};
use serde::{Deserialize, Serialize};

use crate::platform::{Links, Platform};
use crate::state::announcement::LANGUAGE;

/// Characters of a release's name that are believed of a peer.
const LONGEST_VERSION: usize = 32;

/// The release that runs.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// An entry that a server asks the others for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Want {
    pub room: RoomId,
    pub position: u64,
    /// Never twice the same.
    pub token: u64,
}

impl Want {
    pub fn instance(&self, asker: PartyId) -> Instance {
        let mut transcript = Transcript::new("ostrakon/v1/node/wanted entry");
        transcript.field(&self.room.0).number(self.position).number(u64::from(asker.0));
        let scope = transcript.finish().0[..16].try_into().expect("half a digest");
        Instance { kind: InstanceKind::Control, scope, number: self.token }
    }
}

/// What a server tells its peers of itself. A later release may say more after it: that is not
/// read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct About {
    /// The release, and after a plus the [`LANGUAGE`] of its announcements; without that it is the
    /// first.
    version: String,
    pub certificate_expires: Option<u64>,
    /// How far it is with the logs of announcements, once it knows.
    pub progress: Option<Progress>,
    /// An entry that it asks the others for.
    pub wants: Option<Want>,
}

impl About {
    pub fn of_this() -> Self {
        Self::of_release(VERSION, LANGUAGE)
    }

    fn of_release(release: &str, language: u32) -> Self {
        Self { version: format!("{release}+{language}"), ..Self::default() }
    }

    /// The release.
    pub fn release(&self) -> &str {
        self.version.split_once('+').map_or(&self.version, |(release, _)| release)
    }

    /// The language of its announcements.
    pub fn language(&self) -> u32 {
        let after_plus = self.version.rsplit_once('+').map(|(_, language)| language.parse());
        after_plus.and_then(Result::ok).unwrap_or(1)
    }

    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// What a peer said; nothing if it makes no sense.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let about: Self = wire::decode_beginning(bytes).ok()?;
        let plain = about.version.bytes().all(|byte| byte.is_ascii_graphic());
        (plain && about.version.len() <= LONGEST_VERSION).then_some(about)
    }
}

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

    #[test]
    fn what_a_peer_says_of_itself_is_plain_and_short_or_nothing() {
        let state = Some(ostrakon_crypto::Digest([255; 32]));
        let most = Progress {
            generation: u32::MAX,
            state,
            kept: vec![u64::MAX; 7],
            delivered: vec![u64::MAX; 7],
        };
        let room = ostrakon_mixing::RoomId([255; 16]);
        let own = About {
            certificate_expires: Some(u64::MAX),
            progress: Some(most),
            wants: Some(Want { room, position: u64::MAX, token: u64::MAX }),
            ..About::of_this()
        };
        assert_eq!(About::read(&own.encode()), Some(own.clone()));
        assert!(
            own.encode().len() + LONGEST_VERSION - own.version.len()
                <= ostrakon_net::probe::MAX_ABOUT
        );
        for version in ["<b>", "1.0\u{202e}", "1 0", &"9".repeat(33)] {
            let about = About { version: version.into(), ..About::default() };
            assert_eq!(
                About::read(&wire::encode(&about)).is_some(),
                version == "<b>",
                "{version:?}"
            );
        }
        assert_eq!(About::read(b"\xff\xff\xff"), None);
        let later = [&own.encode()[..], b"what a later release says besides"].concat();
        assert_eq!(About::read(&later), Some(own.clone()));
        assert_eq!(own.language(), LANGUAGE);
        for (version, language) in
            [("0.1.0", 1), ("0.1.0+1", 1), ("1.2.3-rc.1+17", 17), ("0.1.0+x", 1), ("+", 1)]
        {
            assert_eq!(
                About { version: version.into(), ..About::default() }.language(),
                language,
                "{version}"
            );
        }
    }
}
