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
    /// Before the two visits.
    visits: &'static str,
    /// Before the time to accept by.
    accept: &'static str,
    /// Before the deadline, as is each that follows: where it goes on without who has not accepted
    /// in time, and where all are needed.
    answer: &'static str,
    answer_all: &'static str,
    /// Of whom only the answer is missing.
    accepted: &'static str,
    begun: &'static str,
    not_begun: &'static str,
    not_begun_all: &'static str,
    /// Where all are needed.
    lapses: &'static str,
    invited: &'static str,
    named: &'static str,
    again: &'static str,
    private: &'static str,
    unexpected: &'static str,
}

const EN: Texts = Texts {
    subject: "You are asked for your answer",
    greeting: "Hello",
    asks: "asks for your answer to this question:",
    asked: "You are asked for your answer to this question:",
    visits: "Two short visits:",
    accept: "Accept by",
    answer: "Then answer, as soon as all have accepted or the time for it is over, until",
    answer_all: "Then answer, as soon as all have accepted, until",
    accepted: "You have accepted already: what is missing is the second short visit, your answer.",
    begun: "Answers are taken until",
    not_begun: "Answers are taken, as soon as all have accepted or the time for it is over, until",
    not_begun_all: "Answers are taken, as soon as all have accepted, until",
    lapses: "If somebody has not accepted in time, it ends without a result.",
    invited: "Open this link to accept. It is for you alone: whoever uses it first takes your place.",
    named: "Open this link, on the device that you have answered with before.",
    again: "Open this link to answer, in the browser in which you have accepted.",
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
    visits: "Zwei kurze Besuche:",
    accept: "Nimm an bis",
    answer: "Antworte dann, sobald alle angenommen haben oder die Zeit dafür vorbei ist, bis",
    answer_all: "Antworte dann, sobald alle angenommen haben, bis",
    accepted: "Du hast schon angenommen: Es fehlt noch der zweite kurze Besuch, deine Antwort.",
    begun: "Antworten sind möglich bis",
    not_begun: "Antworten sind möglich, sobald alle angenommen haben oder die Zeit dafür vorbei ist, bis",
    not_begun_all: "Antworten sind möglich, sobald alle angenommen haben, bis",
    lapses: "Hat jemand nicht rechtzeitig angenommen, endet es ohne Ergebnis.",
    invited: "Öffne diesen Link, um anzunehmen. Er ist nur für dich: Wer ihn zuerst benutzt, nimmt deinen Platz ein.",
    named: "Öffne diesen Link auf dem Gerät, mit dem du schon geantwortet hast.",
    again: "Öffne diesen Link, um zu antworten, in dem Browser, in dem du angenommen hast.",
    private: "Deine Antwort bleibt geheim, auch vor den Servern; vor wem noch, sagt die Seite, bevor du sie gibst. Heraus \
              kommt nur das Ergebnis.",
    unexpected: "Diese Nachricht wurde auf Wunsch der fragenden Person gesendet, deine Adresse wurde nicht aufbewahrt. \
                 Wenn du sie nicht erwartet hast, musst du nichts tun.",
};

/// The texts of a language; English for one that there is none for.
pub(super) fn of(locale: &str) -> &'static Texts {
    if locale == "de" || locale.starts_with("de-") { &DE } else { &EN }
}

/// Which of the two visits is the next one.
#[derive(Clone, Copy)]
pub(super) enum Visit {
    /// The first, until this time in seconds since 1970.
    Accept(u64),
    /// The second, for which others have not accepted yet.
    Wait,
    /// The second.
    Answer,
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
    pub visit: Visit,
    /// It lapses if somebody has not accepted in time; otherwise it goes on without them.
    pub needs_all: bool,
    /// In seconds since 1970.
    pub deadline: u64,
}

impl Texts {
    /// A message's text.
    pub fn body(&self, about: &About<'_>) -> String {
        let Self { greeting, private, unexpected, .. } = self;
        let asked = match about.asks {
            Some(name) => format!("{} {}", in_one_line(name), self.asks),
            None => self.asked.to_owned(),
        };
        let deadline = time(about.deadline);
        let (answer, not_begun, lapses) = if about.needs_all {
            (self.answer_all, self.not_begun_all, format!("\n\n{}", self.lapses))
        } else {
            (self.answer, self.not_begun, String::new())
        };
        let visits = match about.visit {
            Visit::Accept(until) => format!(
                "{}\n\n1. {} {}.\n2. {answer} {deadline}.{lapses}",
                self.visits,
                self.accept,
                time(until),
            ),
            Visit::Wait => format!("{}\n{not_begun} {deadline}.{lapses}", self.accepted),
            Visit::Answer => format!("{}\n{} {deadline}.", self.accepted, self.begun),
        };
        let open = match about.visit {
            _ if !about.invited => self.named,
            Visit::Accept(_) => self.invited,
            Visit::Wait | Visit::Answer => self.again,
        };
        // The sender's words stand on lines of their own, marked as a quotation.
        let quoted: String = about.question.lines().map(|line| format!("> {line}\n")).collect();
        let (name, link) = (in_one_line(about.name), about.link);
        format!(
            "{greeting} {name},\n\n{asked}\n\n{quoted}\n{visits}\n\n{open}\n\n{link}\n\n{private}\n\n{unexpected}\n"
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
            visit: Visit::Accept(951_827_696),
            needs_all: false,
            deadline: 1_795_325_999,
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
        for (text, words) in [
            (&body, ["Zwei kurze Besuche:", "Nimm an bis", "bis 2026-11-22 05:39 UTC."]),
            (&english, ["Two short visits:", "Accept by", "until 2026-11-22 05:39 UTC."]),
        ] {
            assert!(words.iter().all(|words| text.contains(words)), "{text}");
            assert!(text.contains(" 2000-02-29 12:34 UTC."), "the time to accept by: {text}");
        }
        assert!(body.contains("um anzunehmen"), "{body}");
    }

    #[test]
    fn who_has_accepted_is_reminded_of_the_answer_only() {
        let about = |visit| About {
            name: "Ada",
            asks: None,
            question: "One?",
            link: "LINK",
            invited: true,
            visit,
            needs_all: false,
            deadline: 1_795_325_999,
        };
        for (locale, accepted, first) in [
            ("en", "You have accepted already", "takes your place"),
            ("de", "Du hast schon angenommen", "nimmt deinen Platz ein"),
        ] {
            let [asked, waits, answers] =
                [Visit::Accept(0), Visit::Wait, Visit::Answer].map(|v| of(locale).body(&about(v)));
            assert!(!asked.contains(accepted) && asked.contains(first), "{asked}");
            for reminder in [&waits, &answers] {
                assert!(reminder.contains(accepted) && !reminder.contains(first), "{reminder}");
                assert!(reminder.contains("2026-11-22 05:39 UTC"), "{reminder}");
            }
            assert_ne!(waits, answers, "whether answers are taken yet");
        }
    }

    #[test]
    fn what_becomes_of_it_without_who_has_not_accepted_is_as_the_creator_chose() {
        let about = |visit, needs_all| About {
            name: "Ada",
            asks: None,
            question: "One?",
            link: "LINK",
            invited: true,
            visit,
            needs_all,
            deadline: 1_795_325_999,
        };
        for (locale, goes_on, lapses) in [
            ("en", "or the time for it is over", "it ends without a result"),
            ("de", "oder die Zeit dafür vorbei ist", "endet es ohne Ergebnis"),
        ] {
            let says = |visit, needs_all| {
                let body = of(locale).body(&about(visit, needs_all));
                (body.contains(goes_on), body.contains(lapses))
            };
            for visit in [Visit::Accept(0), Visit::Wait] {
                assert_eq!(says(visit, false), (true, false), "{locale}");
                assert_eq!(says(visit, true), (false, true), "{locale}");
            }
            assert_eq!(says(Visit::Answer, true), (false, false), "it has begun");
        }
    }
}
