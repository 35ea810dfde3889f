//! What invitations say, in each language. Nothing in them but the names of people and the question comes from outside.

use std::time::{Duration, UNIX_EPOCH};

const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
/// The last second of the year 9999.
const END_OF_9999: u64 = 253_402_300_799;

/// The texts of one language.
pub(super) struct Texts {
    pub subject: &'static str,
    greeting: &'static str,
    asked: &'static str,
    invited: &'static str,
    named: &'static str,
    deadline: &'static str,
    private: &'static str,
    unexpected: &'static str,
}

const EN: Texts = Texts {
    subject: "You are asked for your answer",
    greeting: "Hello",
    asked: "you are asked to help decide:",
    invited: "Open this link to answer. It is for you alone: whoever opens it first takes your place.",
    named: "Open this link to answer, on the device that you have answered with before.",
    deadline: "Answers are taken until",
    private: "Nobody learns how you answer, not even the servers. Only the result comes out.",
    unexpected: "If you did not expect this message, you need not do anything.",
};

const DE: Texts = Texts {
    subject: "Ihre Antwort wird erbeten",
    greeting: "Guten Tag",
    asked: "Sie werden gebeten, mit zu entscheiden:",
    invited: "Öffnen Sie diesen Link, um zu antworten. Er ist nur für Sie: Wer ihn zuerst öffnet, nimmt Ihren Platz ein.",
    named: "Öffnen Sie diesen Link, um zu antworten, auf dem Gerät, mit dem Sie schon geantwortet haben.",
    deadline: "Antworten sind möglich bis",
    private: "Niemand erfährt, wie Sie antworten, auch die Server nicht. Nur das Ergebnis kommt heraus.",
    unexpected: "Wenn Sie diese Nachricht nicht erwartet haben, müssen Sie nichts tun.",
};

/// The texts of a language; English for one that there is none for.
pub(super) fn of(locale: &str) -> &'static Texts {
    if locale == "de" || locale.starts_with("de-") { &DE } else { &EN }
}

impl Texts {
    /// A message's text; `invited` by a link for one person, or else named by an account. `deadline` in seconds since 1970.
    pub fn body(&self, name: &str, question: &str, (link, invited): (&str, bool), deadline: u64) -> String {
        let Self { greeting, asked, deadline: until, private, unexpected, .. } = self;
        let answer = if invited { self.invited } else { self.named };
        // The sender's words stand on lines of their own, marked as a quotation.
        let quoted: String = question.lines().map(|line| format!("> {line}\n")).collect();
        let name: String = name.chars().filter(|c| !c.is_control()).collect();
        let time = time(deadline);
        format!(
            "{greeting} {name},\n\n{asked}\n\n{quoted}\n{answer}\n\n{link}\n\n{until} {time}.\n\n{private}\n\n{unexpected}\n"
        )
    }
}

/// A time in seconds since 1970 as in `2026-11-22 05:40 UTC`.
fn time(seconds: u64) -> String {
    // As in "Sun, 22 Nov 2026 05:40:00 GMT", which has a fixed length.
    let text = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds.min(END_OF_9999)));
    let month = MONTHS.find(&text[8..11]).map_or(0, |place| place / 3 + 1);
    format!("{}-{month:02}-{} {} UTC", &text[12..16], &text[5..7], &text[17..22])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_out() {
        let cases = [
            (0, "1970-01-01 00:00 UTC"),
            (951_827_696, "2000-02-29 12:34 UTC"),
            (1_795_325_999, "2026-11-22 05:39 UTC"),
            (4_102_444_800, "2100-01-01 00:00 UTC"),
            (u64::MAX, "9999-12-31 23:59 UTC"),
        ];
        for (seconds, text) in cases {
            assert_eq!(time(seconds), text);
        }
    }

    #[test]
    fn what_the_creator_writes_is_quoted_and_breaks_no_lines() {
        let body = of("de-CH").body("Ada\r\nBcc: x@example.org", "One?\nTwo?", ("LINK", true), 0);
        assert!(body.contains("> One?\n> Two?\n") && body.contains("Guten Tag AdaBcc: x@example.org,\n"), "{body}");
        assert!(of("fr").body("Ada", "?", ("LINK", true), 0).starts_with("Hello Ada,"));
    }
}
