//! What is printed, and how.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

/// Prints one value as one line of JSON.
///
/// # Errors
/// If standard output cannot be written.
pub fn json(value: &impl Serialize) -> Result<()> {
    line(&serde_json::to_string(value)?)
}

/// Prints one line.
///
/// # Errors
/// If standard output cannot be written.
pub fn line(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{text}")?;
    Ok(stdout.flush()?)
}

/// Characters of the longest bar.
const BAR: u64 = 40;

/// Prints counts by name as bars, the longest for the largest count.
///
/// # Errors
/// If standard output cannot be written.
pub fn bars(rows: &[(String, u64)]) -> Result<()> {
    let most = rows.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, count) in rows {
        let bar = "█".repeat(usize::try_from((count * BAR).div_ceil(most))?);
        line(&format!("{name:>width$}  {bar} {count}"))?;
    }
    Ok(())
}

/// A count with its noun: `1 epoch`, `3 epochs`.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Among how many a message was published.
pub fn among(messages: usize, participants: usize) -> String {
    let participants = counted(participants, "participant", "participants");
    match messages {
        1 => format!("the only message by {participants}"),
        _ => format!("one of {messages} messages by {participants}"),
    }
}

/// A number of bytes as people read it.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}

/// Prints a message of a room, as it is; to a terminal without the characters that command
/// terminals.
///
/// # Errors
/// If standard output cannot be written.
pub fn message(bytes: &[u8]) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    if stdout.is_terminal() {
        writeln!(stdout, "{}", harmless(bytes))?;
    } else {
        stdout.write_all(bytes)?;
        stdout.write_all(b"\n")?;
    }
    Ok(stdout.flush()?)
}

/// A message as text, which may come from anybody, for a terminal.
pub fn harmless(bytes: &[u8]) -> String {
    let commands = |c: char| c.is_control() && c != '\n' && c != '\t';
    String::from_utf8_lossy(bytes).replace(commands, "\u{fffd}")
}

/// A message as it stands in JSON: text if it is text, and otherwise base64url with a mark.
#[derive(Serialize)]
#[serde(untagged)]
pub enum MessageJson<'a> {
    /// UTF-8.
    Text(Cow<'a, str>),
    /// Anything else.
    Bytes {
        /// The bytes in base64url without padding.
        base64url: String,
    },
}

impl<'a> MessageJson<'a> {
    /// The JSON form of a message.
    pub fn of(bytes: &'a [u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.into()),
            Err(_) => Self::Bytes { base64url: data_encoding::BASE64URL_NOPAD.encode(bytes) },
        }
    }
}

/// A spinner on standard error; nothing if that is no terminal.
pub fn spinner(text: impl Into<Cow<'static, str>>) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}")
        .expect("the template is well-formed");
    let bar = ProgressBar::new_spinner().with_style(style).with_message(text);
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

/// A bar on standard error that counts to `length`; nothing if that is no terminal.
pub fn bar(length: usize, text: impl Into<Cow<'static, str>>) -> ProgressBar {
    let template = "{msg} {bar:30} {pos}/{len} {elapsed}";
    let style = ProgressStyle::with_template(template).expect("the template is well-formed");
    let bar = ProgressBar::new(length as u64).with_style(style).with_message(text);
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_message_commands_a_terminal() {
        assert_eq!(harmless(b"a\x1b[2Jb\tc\nd\xff"), "a\u{fffd}[2Jb\tc\nd\u{fffd}");
    }

    #[test]
    fn messages_are_text_or_marked() {
        assert_eq!(serde_json::to_string(&MessageJson::of("é\"".as_bytes())).unwrap(), r#""é\"""#);
        assert_eq!(
            serde_json::to_string(&MessageJson::of(&[0xff])).unwrap(),
            r#"{"base64url":"_w"}"#
        );
    }
}
