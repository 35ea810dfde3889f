//! People of one name. What tells them apart is for devices to judge, which make drafts, and not
//! for servers: those would have to know the same Unicode, release by release, to agree.

use unicode_normalization::UnicodeNormalization;

/// Digits of a code that stand beside a name, and in steps of how many there are more if those do
/// not differ.
const DIGITS: usize = 8;
const STEP: usize = 4;

/// Somebody with a name, and a code that nobody else has, such as an account's digits; empty for
/// whose name stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bearer {
    /// The name.
    pub name: String,
    /// The code.
    pub code: String,
}

/// One way of writing a text, so that keyboards and systems differ less: composed characters, no
/// blanks at either end, plain line breaks.
pub fn normalised(text: &str) -> String {
    text.nfc().collect::<String>().replace("\r\n", "\n").trim().to_owned()
}

/// A name as it looks: names that look alike are one name to whoever reads them. Forms of a
/// character, blanks, what is not shown, and large letters make no difference. That letters of two
/// scripts look alike is not noticed.
pub fn look(name: &str) -> String {
    let shown = |character: &char| !character.is_whitespace() && !is_unseen(*character);
    let plain: String = name.nfkc().filter(shown).collect();
    plain.to_lowercase()
}

/// Whether nothing is shown for a character: Unicode's `Default_Ignorable_Code_Point`, whose ranges
/// are set apart for future ones, too; control characters; and annotations.
fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// What stands beside each name: the first digits of the code where somebody else's name looks like
/// it, as many as differ from theirs, in fours; nothing for whoever bears a name alone.
pub fn told_apart(bearers: &[Bearer]) -> Vec<String> {
    let looks: Vec<_> = bearers.iter().map(|bearer| look(&bearer.name)).collect();
    let digits = |(own, bearer): (usize, &Bearer)| {
        let others = || {
            let all = bearers.iter().zip(&looks);
            let alike = all.filter(|(_, look)| **look == looks[own]).map(|(other, _)| other);
            alike.filter(|other| other.code != bearer.code)
        };
        if others().next().is_none() {
            return String::new();
        }
        let code: Vec<char> = bearer.code.chars().collect();
        let begins = |count: usize| code[..count.min(code.len())].iter().collect::<String>();
        let mut count = DIGITS;
        while count < code.len() && others().any(|other| other.code.starts_with(&begins(count))) {
            count += STEP;
        }
        let shown = &code[..count.min(code.len())];
        shown.chunks(4).map(String::from_iter).collect::<Vec<_>>().join(" ")
    };
    bearers.iter().enumerate().map(digits).collect()
}

/// What somebody is called beside whose name this stands.
pub fn called(name: &str, digits: &str) -> String {
    if digits.is_empty() { name.to_owned() } else { format!("{name} ({digits})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digits(bearers: &[(&str, &str)]) -> Vec<String> {
        let bearer = |(name, code): &(&str, &str)| Bearer {
            name: (*name).to_owned(),
            code: (*code).to_owned(),
        };
        told_apart(&bearers.iter().map(bearer).collect::<Vec<_>>())
    }

    #[test]
    fn names_that_look_alike_are_one_name() {
        let unseen =
            ["\u{200b}", "\u{ad}", "\u{3164}", "\u{ffa0}", "\u{fe0f}", "\u{e0020}", "\u{7}"];
        for name in ["anna", "ANNA", "An na", "Ａｎｎａ", "𝓐nna"] {
            assert_eq!(look(name), "anna", "{name}");
        }
        for character in unseen {
            assert_eq!(look(&format!("An{character}na")), "anna", "{character:?}");
        }
        assert_eq!(look("Zoe\u{308}"), look("Zoë"), "composed or not");
        assert_ne!(look("Zoe"), look("Zoë"));
        assert_eq!(look(" \u{200b}\u{3164}"), "");
    }

    #[test]
    fn who_bears_a_name_alone_is_called_by_it_and_others_by_their_codes_as_far_as_they_differ() {
        assert_eq!(digits(&[("Anna", "a1b2"), ("Ben", "b1b2")]), ["", ""]);
        let alike = [("Anna", "0123456789ab"), ("an\u{200b}na ", "1123456789ab"), ("Ben", "2")];
        assert_eq!(digits(&alike), ["0123 4567", "1123 4567", ""]);
        let begin = [("Anna", "0123456789aa"), ("Anna", "0123456789bb")];
        assert_eq!(digits(&begin), ["0123 4567 89aa", "0123 4567 89bb"]);
        let same = [("Anna", "0123456789aa"), ("anna", "0123456789aa")];
        assert_eq!(digits(&same), ["", ""], "one account under two names");
        // Whose name stays as it is has no code.
        let joined = [("Anna", ""), ("anna", "0123456789aa")];
        assert_eq!(digits(&joined), ["", "0123 4567"]);
        assert_eq!(
            (called("Anna", ""), called("Anna", "0123 4567")),
            ("Anna".into(), "Anna (0123 4567)".into())
        );
    }

    #[test]
    fn a_text_is_written_in_one_way() {
        assert_eq!(normalised(" Zoe\u{308}\r\nand I \n"), "Zoë\nand I");
    }
}
