//! What [`super::AskedCommittee`] does, without a browser.

use std::collections::BTreeSet;

use ostrakon_computation::{
    Announced, Archive, Cancellation, Committee, ComputationId, Contributors, Draft, Heard, Input,
    Order, Said, SignedDraft, Spent, Statement,
};
use ostrakon_crypto::{Digest, Secret, SigningKey, VerifyingKey};
use ostrakon_stats::asked::{self, Asked, JOB, parameters};
use ostrakon_stats::{Answer, BadPart, Form, Part, Places, Question, Statistic, Value};
use serde::{Deserialize, Serialize};

/// Cells of a sketch of things: counts are off by at most about 0.92/√1024.
const COUNTERS: u16 = 1024;

/// Errors are for people.
pub type Shown<T> = Result<T, String>;

pub fn sentence(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[expect(clippy::disallowed_methods, reason = "the browser is an edge: here randomness enters")]
pub fn random<const N: usize>() -> Shown<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| "this browser offers no secure random numbers")?;
    Ok(bytes)
}

pub struct AskedCommittee {
    committee: Committee,
    digest: Digest,
    /// The draft that was read, and what it asks.
    question: Option<(Draft, Asked)>,
}

/// What a creator asks.
#[derive(Deserialize)]
struct Terms {
    text: String,
    largest: u64,
    /// How many groups, to one of which everybody belongs.
    groups: Option<u16>,
    /// Whether everybody names things.
    #[serde(default)]
    things: bool,
    minimum: u32,
    statistics: Vec<Statistic>,
    /// Thousandths of ε; none without noise.
    epsilon: Option<u32>,
    closes: Option<u64>,
    invited: Option<Vec<VerifyingKey>>,
}

#[derive(Serialize)]
struct Drafted {
    id: ComputationId,
    draft: SignedDraft,
}

/// What a reporter is asked.
#[derive(Serialize)]
struct Read<'a> {
    text: &'a str,
    /// Zero where things are asked for.
    largest: u64,
    groups: Option<u16>,
    things: bool,
    minimum: u32,
    statistics: &'a [Statistic],
    /// Whether a circuit of the asker's own may tell anything of one report.
    at_once: bool,
    epsilon: Option<u32>,
    /// δ is at most 2^-`delta_bits`.
    delta_bits: Option<u32>,
    closes: Option<u64>,
    anyone: bool,
    creator: VerifyingKey,
}

#[derive(Deserialize)]
pub struct View {
    pub draft: SignedDraft,
}

/// The archive as it is published.
#[derive(Deserialize)]
pub struct Published {
    pub archive: Archive,
}

#[derive(Serialize)]
struct Proven {
    reports: usize,
    out: usize,
    missing: u32,
    /// Thousandths of ε that all answers so far tell of anybody who reported, and the limit.
    spent: Option<Spent>,
    answers: Option<Vec<Answer>>,
}

impl AskedCommittee {
    pub fn new(committee: &str, digest: Option<&str>) -> Shown<Self> {
        let committee: Committee = serde_json::from_str(committee).map_err(sentence)?;
        committee.validate().map_err(sentence)?;
        asked::members(&committee).map_err(sentence)?;
        let own = committee.digest();
        if digest.is_some_and(|digest| digest != own.to_hex()) {
            return Err("this server is of another committee than the link's".into());
        }
        Ok(Self { committee, digest: own, question: None })
    }

    pub fn digest(&self) -> String {
        self.digest.to_hex()
    }

    pub fn ask(&self, terms: &str, creator: &SigningKey) -> Shown<String> {
        let terms: Terms = serde_json::from_str(terms).map_err(sentence)?;
        let Terms { text, largest, groups, things, minimum, .. } = terms;
        let Terms { statistics, epsilon, closes, invited, .. } = terms;
        let form = match (things, Form::number_up_to(largest), groups) {
            (true, ..) => Form::Items { counters: COUNTERS },
            (false, Form::Number { width }, Some(groups)) => Form::Grouped { width, groups },
            (false, form, _) => form,
        };
        let question = Question { text, form, minimum, statistics, epsilon };
        question.validate().map_err(sentence)?;
        let draft = Draft {
            committee: self.digest,
            job: JOB.to_owned(),
            parameters: parameters(&question),
            title: question.text.clone(),
            minimum,
            contributors: invited.map_or(Contributors::Anyone, |keys| keys.into_iter().collect()),
            closes,
            creator: creator.verifying_key(),
            nonce: random()?,
        };
        draft.validate().map_err(sentence)?;
        asked::question(&draft).map_err(sentence)?;
        let draft = draft.sign(creator);
        serde_json::to_string(&Drafted { id: draft.draft.id(), draft }).map_err(sentence)
    }

    pub fn read(&mut self, view: &str, computation: &str) -> Shown<String> {
        let View { draft } = serde_json::from_str(view).map_err(sentence)?;
        draft.verify(&self.digest).map_err(sentence)?;
        let draft = draft.draft;
        if draft.id().0.to_hex() != computation {
            return Err("this server shows another question than the link's".into());
        }
        let asked = Asked::of(&draft, &self.committee).map_err(sentence)?;
        let (width, groups) = match asked.question.form {
            Form::Number { width } => (width, None),
            Form::Grouped { width, groups } => (width, Some(groups)),
            Form::Items { .. } => (0, None),
        };
        let read = Read {
            text: &draft.title,
            largest: (1 << width) - 1,
            groups,
            things: matches!(asked.question.form, Form::Items { .. }),
            minimum: draft.minimum,
            statistics: &asked.question.statistics,
            at_once: asked.question.reads_all_at_once(),
            epsilon: asked.question.epsilon,
            delta_bits: asked.question.delta_bits(),
            closes: draft.closes,
            anyone: draft.contributors == Contributors::Anyone,
            creator: draft.creator,
        };
        let read = serde_json::to_string(&read).map_err(sentence)?;
        self.question = Some((draft, asked));
        Ok(read)
    }

    pub fn admits(&self, reporter: &SigningKey) -> bool {
        let admits = |(draft, _): &(Draft, Asked)| draft.admits(&reporter.verifying_key());
        self.question.as_ref().is_some_and(admits)
    }

    fn asked(&self) -> Shown<&Asked> {
        let (_, asked) = self.question.as_ref().ok_or("the question has not been read")?;
        Ok(asked)
    }

    /// Of a group where there are some.
    pub fn report(&self, number: u64, group: Option<u16>, reporter: &SigningKey) -> Shown<Vec<u8>> {
        let value = match group {
            None => Value::Number(number),
            Some(group) => Value::Grouped { group, number },
        };
        self.report_of(&value, reporter)
    }

    /// Each thing once.
    pub fn report_things(
        &self,
        things: Vec<String>,
        views: &[String],
        reporter: &SigningKey,
    ) -> Shown<Vec<u8>> {
        let things: BTreeSet<Vec<u8>> = things.into_iter().map(String::into_bytes).collect();
        let places = self.places(views)?;
        self.report_of(&Value::Items(things.into_iter().collect(), places), reporter)
    }

    /// Where things fall, by what all members show.
    fn places(&self, views: &[String]) -> Shown<Places> {
        /// What of the answer of `GET /api/v1/computations/ID` is read here.
        #[derive(Deserialize)]
        struct Showing {
            part: Part,
        }
        let part = |(member, view): (usize, &String)| {
            let showing = serde_json::from_str::<Showing>(view);
            showing.map(|showing| showing.part).map_err(|_| BadPart(member))
        };
        let parts = views.iter().enumerate().map(part).collect::<Result<Vec<_>, _>>();
        let asked = self.asked()?;
        let places = parts.and_then(|parts| asked.places(&parts));
        places.map_err(|BadPart(member)| {
            let name = self.committee.members.get(member).map_or("a server", |of| &of.name);
            format!("{name} does not show its part of what lists are hashed under")
        })
    }

    fn report_of(&self, value: &Value, reporter: &SigningKey) -> Shown<Vec<u8>> {
        let randomness = Secret::new(random()?);
        let input = self.asked()?.report(value, reporter, &randomness);
        Ok(input.map_err(sentence)?.encode())
    }

    pub fn is_receipt(&self, report: &[u8], member: usize, answer: &str) -> bool {
        let (Some(input), Ok(asked)) = (Input::decode(report), self.asked()) else { return false };
        is_receipt_of(&self.committee, &asked.computation, &input, member, answer)
    }

    pub fn order(&self, creator: &SigningKey) -> String {
        let computation = self.asked().map(|asked| asked.computation);
        let order = computation.map(|computation| Order::sign(computation, creator));
        order.ok().and_then(|order| serde_json::to_string(&order).ok()).unwrap_or_default()
    }

    pub fn cancellation(&self, creator: &SigningKey) -> String {
        let computation = self.asked().map(|asked| asked.computation);
        let word = computation.map(|computation| Cancellation::sign(computation, creator));
        word.ok().and_then(|word| serde_json::to_string(&word).ok()).unwrap_or_default()
    }

    pub fn heard(&self, statements: &[String]) -> Shown<String> {
        let (draft, _) = self.question.as_ref().ok_or("the question has not been read")?;
        heard(&self.committee, draft, statements)
    }

    pub fn verify(&self, archive: &str) -> Shown<String> {
        let Published { archive } = serde_json::from_str(archive).map_err(sentence)?;
        let computation = self.asked()?.computation;
        archive.verify_as(&computation, &self.digest).map_err(sentence)?;
        let result = asked::result(&archive).map_err(sentence)?;
        let excluded = result.as_ref().map_or(0, |result| result.excluded.len());
        let proven = Proven {
            reports: result.as_ref().map_or(archive.seal.inputs.len(), |result| result.accepted),
            out: archive.seal.conflicts.len() + archive.seal.unsound.len() + excluded,
            missing: archive.seal.missing(&archive.draft.draft),
            spent: archive.spent(),
            answers: result.map(|result| result.answers),
        };
        serde_json::to_string(&proven).map_err(sentence)
    }
}

/// Whether a member's answer is its receipt for an input.
pub fn is_receipt_of(
    committee: &Committee,
    computation: &ComputationId,
    input: &Input,
    member: usize,
    answer: &str,
) -> bool {
    let (contributor, body) = (input.entry.contributor, input.entry.body);
    let is = |statement: Statement| {
        let same = statement.said == Said::Receipt { contributor, body }
            && statement.computation == *computation;
        Some(same && statement.verifies(&committee.members.get(member)?.key))
    };
    serde_json::from_str(answer).ok().and_then(is).unwrap_or(false)
}

/// What members have signed of the end of a computation; what does not read is not said.
pub fn heard(committee: &Committee, draft: &Draft, statements: &[String]) -> Shown<String> {
    let read = |answer: &String| serde_json::from_str(answer).unwrap_or_default();
    let shown: Vec<Vec<Statement>> = statements.iter().map(read).collect();
    serde_json::to_string(&Heard::of(committee, draft, &shown)).map_err(sentence)
}

/// What is told each member of an input before its pieces are sent.
pub fn announcements(
    committee: &str,
    computation: &str,
    input: &[u8],
    contributor: &SigningKey,
) -> Shown<Vec<String>> {
    let committee: Committee = serde_json::from_str(committee).map_err(sentence)?;
    let computation = Digest::from_hex(computation).ok_or("this names no computation")?;
    let input = Input::decode(input).ok_or("this is too short to be an input")?;
    let announce =
        |to: &VerifyingKey| Announced::sign(&ComputationId(computation), &input, to, contributor);
    let members = committee.members.iter().map(|member| announce(&member.key));
    members.map(|announced| serde_json::to_string(&announced).map_err(sentence)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostrakon_computation::{Card, ShareKey};
    use ostrakon_stats::ExchangeKey;

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed(&[seed; 32])
    }

    fn committee() -> String {
        let card = |m: u8| {
            let exchange = ExchangeKey::from_seed(&Secret::new([m; 32]));
            let share_key = ShareKey::new(&exchange.member(&key(m)).to_bytes(), &[m; 32]);
            let (url, mesh) = (format!("http://m{m}"), format!("m{m}:1"));
            Card::sign(&format!("m{m}"), &url, &mesh, share_key, &key(m))
        };
        let committee = Committee::found("test", (1..4).map(card).collect()).unwrap();
        serde_json::to_string(&committee).unwrap()
    }

    #[test]
    fn a_question_is_asked_read_and_reported_to_and_nothing_else_passes() {
        let mut one = AskedCommittee::new(&committee(), None).unwrap();
        assert!(AskedCommittee::new(&committee(), Some(&"0".repeat(64))).is_err());
        let terms = r#"{"text":"How many?","largest":200,"minimum":2,
            "statistics":[{"quantile":500},"sum",{"histogram":[10,20]}],"closes":null,"invited":null}"#;
        let drafted = one.ask(terms, &key(9)).unwrap();
        let drafted: serde_json::Value = serde_json::from_str(&drafted).unwrap();
        let id = drafted["id"].as_str().unwrap();
        let view = drafted.to_string();
        assert!(one.read(&view, &"1".repeat(64)).is_err(), "another link");
        let read: serde_json::Value = serde_json::from_str(&one.read(&view, id).unwrap()).unwrap();
        assert_eq!(read["largest"], 255);
        assert_eq!(read["anyone"], true);
        assert!(one.admits(&key(5)));
        assert!(one.report(256, None, &key(5)).is_err());
        let report = one.report(255, None, &key(5)).unwrap();
        let input = Input::decode(&report).unwrap();
        let (contributor, body) = (input.entry.contributor, input.entry.body);
        let computation = one.asked().unwrap().computation;
        let sign = |said, by| {
            serde_json::to_string(&Statement::sign(computation, said, &key(by))).unwrap()
        };
        let said = Said::Receipt { contributor, body };
        assert!(one.is_receipt(&report, 0, &sign(said.clone(), 1)));
        assert!(!one.is_receipt(&report, 1, &sign(said, 1)), "another member's");
        let other = Said::Receipt { contributor, body: Digest([0; 32]) };
        assert!(!one.is_receipt(&report, 0, &sign(other, 1)), "of another report");
        assert!(!one.is_receipt(&report, 7, "{}"));
        let order: Order = serde_json::from_str(&one.order(&key(9))).unwrap();
        assert_eq!(order.computation, computation);
        let word: Cancellation = serde_json::from_str(&one.cancellation(&key(9))).unwrap();
        assert_eq!(word, Cancellation::sign(computation, &key(9)));
        assert!(one.verify("{}").is_err());
        // What one member shows of the end counts as far as it is signed.
        let stopped = |by| format!("[{}]", sign(Said::stopped("no"), by));
        let heard = |first: String| {
            let shown = one.heard(&[first, String::new(), "[]".into()]).unwrap();
            serde_json::from_str::<serde_json::Value>(&shown).unwrap()
        };
        assert_eq!(heard(stopped(1))["stopped"], serde_json::json!([[0, "no"]]));
        assert_eq!(heard(stopped(2))["stopped"], serde_json::json!([]), "another member's");
        let told = announcements(&committee(), id, &report, &key(5)).unwrap();
        for (told, member) in told.iter().zip(1..) {
            let told: Announced = serde_json::from_str(told).unwrap();
            let verifies = |to: u8| told.verifies(&computation, &key(to).verifying_key());
            assert!(verifies(member) && !verifies(member % 3 + 1));
        }
    }

    /// Asks, and reads what is asked.
    fn ask(one: &mut AskedCommittee, terms: &str) -> serde_json::Value {
        let drafted = one.ask(terms, &key(9)).unwrap();
        let id = serde_json::from_str::<serde_json::Value>(&drafted).unwrap()["id"].clone();
        serde_json::from_str(&one.read(&drafted, id.as_str().unwrap()).unwrap()).unwrap()
    }

    #[test]
    fn noise_is_asked_for_and_shown_with_what_it_leaves() {
        let mut one = AskedCommittee::new(&committee(), None).unwrap();
        let terms = |more: &str| {
            format!(
                r#"{{"text":"How many?","largest":200,"minimum":2,{more}
                "statistics":["sum"],"closes":null,"invited":null}}"#
            )
        };
        let noisy = ask(&mut one, &terms(r#""epsilon":500,"#));
        assert_eq!((&noisy["epsilon"], &noisy["delta_bits"]), (&500.into(), &58.into()));
        let exact = ask(&mut one, &terms(""));
        assert!(exact["epsilon"].is_null() && exact["delta_bits"].is_null());
    }

    #[test]
    fn groups_and_things_are_asked_for_and_reported() {
        let mut one = AskedCommittee::new(&committee(), None).unwrap();
        let grouped = r#"{"text":"Where? (0 = north, 1 = south)","largest":63,"groups":2,
            "minimum":2,"statistics":[{"quantile":500}],"closes":null,"invited":null}"#;
        let read = ask(&mut one, grouped);
        assert_eq!((&read["groups"], &read["things"]), (&2.into(), &false.into()));
        assert!(one.report(7, Some(1), &key(5)).is_ok());
        assert!(one.report(7, Some(2), &key(5)).is_err(), "no such group");
        assert!(one.report(7, None, &key(5)).is_err(), "of no group");
        let things = r#"{"text":"What?","largest":3,"things":true,"minimum":2,
            "statistics":["distinct"],"closes":null,"invited":null}"#;
        let all = r#"{"text":"What?","largest":3,"minimum":2,"statistics":[{"circuit":
            "1 7\n3 2 2 2\n1 1\n\n2 1 0 2 6 AND\n"}],"closes":null,"invited":null}"#;
        assert_eq!(
            (&ask(&mut one, all)["at_once"], &read["at_once"]),
            (&true.into(), &false.into())
        );
        let read = ask(&mut one, things);
        assert_eq!((&read["groups"], &read["things"]), (&serde_json::Value::Null, &true.into()));
        let listed = || vec!["a".into(), "b".into(), "a".into()];
        let shown = |by: u8, member| {
            let asked = one.asked().unwrap();
            let exchange = ExchangeKey::from_seed(&Secret::new([by; 32]));
            let part = Part::of(&exchange, member, &asked.scope());
            serde_json::json!({ "part": part }).to_string()
        };
        let mut views = [shown(1, 0), shown(2, 1), shown(3, 2)];
        assert!(one.report_things(listed(), &views, &key(5)).is_ok());
        let why = one.report_things(listed(), &views[..2], &key(5)).unwrap_err();
        assert!(why.starts_with("m3 does not show"), "{why}");
        for other in [shown(1, 1), r#"{"part":null}"#.into()] {
            views[1] = other;
            let why = one.report_things(listed(), &views, &key(5)).unwrap_err();
            assert!(why.starts_with("m2 does not show"), "{why}");
        }
        assert!(one.report(1, None, &key(5)).is_err(), "a number is no list");
    }
}
