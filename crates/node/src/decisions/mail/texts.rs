//! What invitations say, in each language. Nothing in them but the names of people and the question
//! comes from outside.

use std::time::{Duration, UNIX_EPOCH};

const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
/// The last second of the year 9999.
const END_OF_9999: u64 = 253_402_300_799;

/// The texts of one language.
pub(super) struct Texts {
    pub subject: &'static str,
    greeting: &'static str,
    /// After the name of who asks.
    asks: &'static str,
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
    asks: "asks for your answer to this question:",
    asked: "You are asked for your answer to this question:",
    invited: "Open this link to answer. It is for you alone: whoever uses it first takes your place.",
    named: "Open this link to answer, on the device that you have answered with before.",
    deadline: "Answers are taken until",
    private: "Your answer stays secret, from the servers, too; before you give it, the page says against whom. Only the \
              result comes out.",
    unexpected: "This message was sent at the wish of whoever asks, and your address was not kept. If you did not expect \
                 it, you need not do anything.",
};

const DE: Texts = Texts {
    subject: "Deine Antwort wird erbeten",
    greeting: "Hallo",
    asks: "bittet dich um deine Antwort auf diese Frage:",
    asked: "Du wirst um deine Antwort auf diese Frage gebeten:",
    invited: "Öffne diesen Link, um zu antworten. Er ist nur für dich: Wer ihn zuerst benutzt, nimmt deinen Platz ein.",
    named: "Öffne diesen Link, um zu antworten, auf dem Gerät, mit dem du schon geantwortet hast.",
    deadline: "Antworten sind möglich bis",
    private: "Deine Antwort bleibt geheim, auch vor den Servern; vor wem noch, sagt die Seite, bevor du sie gibst. Heraus \
              kommt nur das Ergebnis.",
    unexpected: "Diese Nachricht wurde auf Wunsch der fragenden Person gesendet, deine Adresse wurde nicht aufbewahrt. \
                 Wenn du sie nicht erwartet hast, musst du nichts tun.",
};

/// The texts of a language; English for one that there is none for.
pub(super) fn of(locale: &str) -> &'static Texts {
    if locale == "de" || locale.starts_with("de-") { &DE } else { &EN }
}

/// What an invitation is about.
pub(super) struct About<'a> {
    /// Who is asked.
    pub name: &'a str,
    /// The name of who asks, if it is one of those who decide.
    pub asks: Option<&'a str>,
    pub question: &'a str,
    pub link: &'a str,
    /// The link is an invitation; otherwise the person is named by an account.
    pub invited: bool,
    /// In seconds since 1970.
    pub deadline: u64,
}

impl Texts {
    /// A message's text.
    pub fn body(&self, about: &About<'_>) -> String {
        let Self { greeting, deadline: until, private, unexpected, .. } = self;
        let asked = match about.asks {
            Some(name) => format!("{} {}", in_one_line(name), self.asks),
            None => self.asked.to_owned(),
        };
        let answer = if about.invited { self.invited } else { self.named };
        // The sender's words stand on lines of their own, marked as a quotation.
        let quoted: String = about.question.lines().map(|line| format!("> {line}\n")).collect();
        let (name, link, time) = (in_one_line(about.name), about.link, time(about.deadline));
        format!(
            "{greeting} {name},\n\n{asked}\n\n{quoted}\n{answer}\n\n{link}\n\n{until} {time}.\n\n{private}\n\n{unexpected}\n"
        )
    }
}

fn in_one_line(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).collect()
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
        let about = About {
            name: "Ada\r\nBcc: x@example.org",
            asks: Some("Ben\nTo: y"),
            question: "One?\nTwo?",
            link: "LINK",
            invited: true,
            deadline: 0,
        };
        let body = of("de-CH").body(&about);
        assert!(
            body.contains("> One?\n> Two?\n") && body.contains("Hallo AdaBcc: x@example.org,\n"),
            "{body}"
        );
        assert!(body.contains("\nBenTo: y bittet dich"), "{body}");
        let english = of("fr").body(&About { name: "Ada", asks: None, invited: false, ..about });
        assert!(
            english.starts_with("Hello Ada,\n\nYou are asked") && english.contains("on the device"),
            "{english}"
        );
    }
}
