//! What a user types while the client runs.

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// `say CONTACT TEXT`
    Say(String, String),
    /// `call CONTACT`
    Call(String),
    /// `accept CONTACT`
    Accept(String),
    /// `decline CONTACT`
    Decline(String),
    /// `end CONTACT`
    End(String),
    /// `code CONTACT`
    Code(String),
    /// `add LINK NAME`
    Add(String, String),
    /// `link [LABEL]`
    Link(String),
    /// `revoke NUMBER`
    Revoke(u32),
    /// `forget CONTACT`
    Forget(String),
    /// `list`
    List,
}

/// What there is to type.
pub const ORDERS: &str = "say CONTACT TEXT, call CONTACT, accept CONTACT, decline CONTACT, end CONTACT, code CONTACT, \
                          add LINK NAME, forget CONTACT, link [LABEL], revoke NUMBER, list";

/// Reads a line. A contact is its name in double quotes, if there are spaces in it, or its number.
///
/// # Errors
/// What may be typed.
pub fn parse(line: &str) -> Result<Order, String> {
    let (word, rest) = word(line);
    let (first, text) = self::word(rest);
    let contact = || {
        if first.is_empty() { Err(format!("{word} whom?")) } else { Ok(first.to_owned()) }
    };
    match word {
        "say" => Ok(Order::Say(contact()?, text.to_owned())),
        "call" => Ok(Order::Call(contact()?)),
        "accept" => Ok(Order::Accept(contact()?)),
        "decline" => Ok(Order::Decline(contact()?)),
        "end" => Ok(Order::End(contact()?)),
        "code" => Ok(Order::Code(contact()?)),
        "forget" => Ok(Order::Forget(contact()?)),
        "add" => Ok(Order::Add(contact()?, text.to_owned())),
        "link" => Ok(Order::Link(rest.to_owned())),
        "revoke" => {
            let number = first.parse();
            number.map(Order::Revoke).map_err(|_| "revoke which number? See `list`".to_owned())
        }
        "list" => Ok(Order::List),
        _ => Err(format!("{word:?} is no command; there are: {ORDERS}")),
    }
}

/// The first word of a line, or what is in double quotes, and the rest.
fn word(line: &str) -> (&str, &str) {
    let line = line.trim();
    let parts = match line.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"'),
        None => line.split_once(char::is_whitespace),
    };
    let (word, rest) = parts.unwrap_or((line, ""));
    (word, rest.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_commands_or_say_what_there_is() {
        let say = |contact: &str, text: &str| Ok(Order::Say(contact.into(), text.into()));
        assert_eq!(parse("say Ann how are  you?"), say("Ann", "how are  you?"));
        assert_eq!(parse(" say \"Ann Lee\" hello "), say("Ann Lee", "hello"));
        assert_eq!(parse("accept 3"), Ok(Order::Accept("3".into())));
        assert_eq!(parse("link"), Ok(Order::Link(String::new())));
        assert_eq!(parse("revoke 2"), Ok(Order::Revoke(2)));
        assert_eq!(parse("add http://x Ann"), Ok(Order::Add("http://x".into(), "Ann".into())));
        for wrong in ["", "hello", "revoke x", "say", "call"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
