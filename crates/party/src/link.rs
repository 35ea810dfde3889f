//! What links of every kind have in common: a server's origin, and a secret for one person.

use std::fmt;

use data_encoding::BASE64URL_NOPAD;
use ostrakon_crypto::SigningKey;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The secret part of a link for one person: the seed of a key. It is wiped when dropped, and not
/// printed. What the key may do is told where the links are: those to rooms and those to decisions.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Invitation(pub [u8; 32]);

impl fmt::Debug for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Invitation")
    }
}

impl Invitation {
    /// The key.
    pub fn key(&self) -> SigningKey {
        SigningKey::from_seed(&self.0)
    }

    /// base64url without padding, 43 characters.
    pub fn to_text(&self) -> String {
        BASE64URL_NOPAD.encode(&self.0)
    }

    /// Reads what [`Invitation::to_text`] writes; `None` for anything else.
    pub fn from_text(text: &str) -> Option<Self> {
        BASE64URL_NOPAD.decode(text.as_bytes()).ok()?.try_into().ok().map(Self)
    }
}

/// Takes a link apart at `mark`: a server's origin (scheme, host and port, without a slash at the
/// end), and what follows the mark. `None` if there is no mark, or what is before it is no origin.
pub fn split_link<'a>(text: &'a str, mark: &str) -> Option<(&'a str, &'a str)> {
    let (origin, path) = text.trim().split_once(mark)?;
    let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"))?;
    let outside = |c: char| c == '/' || c == '#' || c.is_whitespace();
    (!host.is_empty() && !host.contains(outside)).then_some((origin, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invitation_reads_back_and_is_not_printed() {
        let invitation = Invitation([5; 32]);
        assert_eq!(Invitation::from_text(&invitation.to_text()).as_ref(), Some(&invitation));
        for wrong in
            ["", "BQUF", &format!("{}=", invitation.to_text()), &invitation.to_text()[..42]]
        {
            assert_eq!(Invitation::from_text(wrong), None, "{wrong}");
        }
        assert_eq!(format!("{invitation:?}"), "Invitation");
    }

    #[test]
    fn a_link_begins_with_an_origin() {
        let split = |text| split_link(text, "/#/x/");
        assert_eq!(
            split(" https://a.example:8443/#/x/rest/#/x/ \n"),
            Some(("https://a.example:8443", "rest/#/x/"))
        );
        assert_eq!(split("http://[::1]:1/#/x/"), Some(("http://[::1]:1", "")));
        for wrong in [
            "",
            "a/#/x/",
            "ftp://a/#/x/",
            "https:///#/x/r",
            "https://a/b/#/x/r",
            "https://a b/#/x/r",
            "https://a/#/y/r",
        ] {
            assert_eq!(split(wrong), None, "{wrong}");
        }
    }
}
