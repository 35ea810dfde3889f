//! Links to rooms without a clock: `ORIGIN/#/mix/DIGEST[/SEED]`.

use std::fmt;
use std::str::FromStr;

use data_encoding::BASE64URL_NOPAD;
use ostrakon_crypto::{Digest, Secret};

/// What precedes the digest.
const PART: &str = "/#/mix/";

/// A room's link.
#[derive(Clone)]
pub struct Link {
    /// Where one of its servers is.
    pub origin: String,
    /// The room's digest.
    pub room: Digest,
    /// Whose link it is, if the room has a list.
    pub seed: Option<Secret>,
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{PART}{}", self.origin, self.room.to_hex())?;
        match &self.seed {
            Some(seed) => write!(f, "/{}", BASE64URL_NOPAD.encode(seed.expose())),
            None => Ok(()),
        }
    }
}

/// Why a text is no link.
#[derive(Debug, thiserror::Error)]
#[error("this is no room's link: it must read http(s)://HOST/#/mix/… to its very end")]
pub struct NoLink;

impl FromStr for Link {
    type Err = NoLink;

    fn from_str(text: &str) -> Result<Self, NoLink> {
        let (origin, rest) = text.trim().split_once(PART).ok_or(NoLink)?;
        let host = origin.strip_prefix("http://").or(origin.strip_prefix("https://"));
        let (room, seed) = match rest.split_once('/') {
            Some((room, seed)) => (room, Some(seed)),
            None => (rest, None),
        };
        let seed = match seed.filter(|seed| !seed.is_empty()) {
            Some(seed) => {
                let bytes = BASE64URL_NOPAD.decode(seed.as_bytes()).map_err(|_| NoLink)?;
                Some(Secret::new(bytes.try_into().map_err(|_| NoLink)?))
            }
            None => None,
        };
        let room = Digest::from_hex(room).ok_or(NoLink)?;
        if !host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '#', ' '])) {
            return Err(NoLink);
        }
        Ok(Self { origin: origin.to_owned(), room, seed })
    }
}

/// A link to a room of whichever kind.
#[derive(Clone)]
pub enum AnyLink {
    /// Of three servers.
    Room(Box<ostrakon_mixing::link::Link>),
    /// Without a clock.
    Mix(Link),
}

impl FromStr for AnyLink {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains(PART) {
            text.parse().map(Self::Mix).map_err(|error: NoLink| error.to_string())
        } else {
            let link: Result<ostrakon_mixing::link::Link, _> = text.parse();
            link.map(|link| Self::Room(Box::new(link))).map_err(|error| error.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read_as_written() {
        let bare = format!("https://a.test:7/#/mix/{}", "ab".repeat(32));
        let own = format!("{bare}/{}", BASE64URL_NOPAD.encode(&[7; 32]));
        for text in [&bare, &own] {
            assert_eq!(&text.parse::<Link>().unwrap().to_string(), text);
            assert!(matches!(text.parse(), Ok(AnyLink::Mix(_))));
        }
        for wrong in [&bare[..bare.len() - 2], &own[..own.len() - 2], "https:///#/mix/", ""] {
            assert!(wrong.parse::<Link>().is_err(), "{wrong}");
        }
    }
}
