//! What creators, contributors and members of a committee send.

use std::sync::LazyLock;

use ostrakon_authbits::circuit::bristol::{Limits, parse};
use ostrakon_computation::{
    Archive, Card, Committee, Conclusion, Contributors, Draft, Input, Parameters, Said, Seal,
    SealedBy, ShareKey, SignedDraft, Statement,
};
use ostrakon_crypto::Secret;
use ostrakon_stats::asked::{Asked, JOB, parameters};
use ostrakon_stats::{ExchangeKey, Form, Question, Statistic, Value};

use super::key;

static COMMITTEE: LazyLock<Committee> = LazyLock::new(|| {
    let card = |m: u8| {
        let exchange = ExchangeKey::from_seed(&Secret::new([m; 32]));
        let share_key = ShareKey::new(&exchange.member(key(m)).to_bytes(), &[m; 32]);
        let (url, mesh) = (format!("http://m{m}"), format!("m{m}:1"));
        Card::sign(&format!("m{m}"), &url, &mesh, share_key, key(m))
    };
    Committee::found("fuzzed", vec![card(1), card(2)]).expect("two members")
});

fn draft() -> SignedDraft {
    let question = Question {
        text: "How many?".into(),
        form: Form::Number { width: 8 },
        minimum: 1,
        statistics: vec![Statistic::Quantile(500)],
        epsilon: None,
    };
    let draft = Draft {
        committee: COMMITTEE.digest(),
        job: JOB.into(),
        parameters: parameters(&question),
        title: question.text,
        minimum: 1,
        contributors: Contributors::Anyone,
        closes: None,
        creator: key(9).verifying_key(),
        nonce: [0; 16],
    };
    draft.sign(key(9))
}

static ASKED: LazyLock<Asked> =
    LazyLock::new(|| Asked::of(&draft().draft, &COMMITTEE).expect("a question"));

static INPUT: LazyLock<Input> = LazyLock::new(|| {
    let report = ASKED.report(&Value::Number(7), key(5), &Secret::new([6; 32]));
    report.expect("a number of the question's width")
});

pub fn valid_draft() -> Vec<u8> {
    serde_json::to_vec(&draft()).expect("plain data")
}

/// What a committee takes as a draft is what its creator signed.
pub fn read_draft(bytes: &[u8]) -> bool {
    let Ok(signed) = serde_json::from_slice::<SignedDraft>(bytes) else { return false };
    let accepted = signed.verify(&COMMITTEE.digest()).is_ok();
    assert!(!accepted || signed == draft(), "the creator has signed one draft only");
    accepted && Asked::of(&signed.draft, &COMMITTEE).is_ok()
}

pub fn valid_input() -> Vec<u8> {
    INPUT.encode()
}

/// Nobody but its reporter makes a report, and it is read as what it is.
pub fn read_input(bytes: &[u8]) -> bool {
    let Some(input) = Input::decode(bytes) else { return false };
    assert_eq!(input.encode(), bytes, "an input has one form");
    let signed = input.entry.verifies(&ASKED.computation, &draft().draft);
    let report = ASKED.read(&input);
    if let Ok(report) = &report {
        assert_eq!(report.bytes(), input.body, "a report has one form");
    }
    signed && report.is_ok_and(|report| report.reporter() == input.entry.contributor)
}

fn statement() -> Statement {
    Statement::sign(ASKED.computation, Said::Holdings(vec![INPUT.entry]), key(1))
}

pub fn valid_statement() -> Vec<u8> {
    serde_json::to_vec(&statement()).expect("plain data")
}

/// A member has said what it has signed.
pub fn read_statement(bytes: &[u8]) -> bool {
    let Ok(read) = serde_json::from_slice::<Statement>(bytes) else { return false };
    let accepted = read.verifies(&key(1).verifying_key());
    assert!(!accepted || read == statement(), "the member has signed one statement only");
    accepted
}

pub static ARCHIVE: LazyLock<Archive> = LazyLock::new(|| {
    let seal = Seal { inputs: vec![INPUT.entry], conflicts: vec![], unsound: vec![] };
    let conclusion = Conclusion::Reached(Parameters(vec![1]));
    let id = ASKED.computation;
    let (digest, result) = (seal.digest(&id), conclusion.digest(&id));
    let sign =
        |said: &Said| [1, 2].map(|m| Statement::sign(id, said.clone(), key(m)).signature).to_vec();
    let sealed = sign(&Said::Sealed { seal: digest, spent: None }).into_iter();
    let sealed = sealed.map(|signature| SealedBy { spent: None, signature }).collect();
    let signatures = (sealed, sign(&Said::Outcome { seal: digest, result }));
    Archive::new(COMMITTEE.clone(), draft(), seal, conclusion, signatures)
});

pub fn valid_archive() -> Vec<u8> {
    serde_json::to_vec(&*ARCHIVE).expect("plain data")
}

/// What verifies as this computation's result is this result.
pub fn read_archive(bytes: &[u8]) -> bool {
    let Ok(read) = serde_json::from_slice::<Archive>(bytes) else { return false };
    let accepted = read.verify_as(&ASKED.computation, &COMMITTEE.digest()).is_ok();
    assert!(!accepted || read == *ARCHIVE, "the members have signed one result only");
    accepted
}

/// Of two numbers of two bits: whether both are 3, and the complement of the first one's low bit.
pub fn valid_circuit() -> Vec<u8> {
    b"6 10\n2 2 2\n2 1 1\n\n2 1 0 1 4 AND\n2 1 2 3 5 AND\n1 1 1 6 EQ\n2 1 0 6 7 XOR\n\
      2 1 4 5 8 AND\n1 1 7 9 EQW\n"
        .to_vec()
}

/// What is read computes what the text says, line by line.
pub fn read_circuit(bytes: &[u8]) -> bool {
    let limits = Limits { bytes: 1 << 12, gates: 1 << 8, wires: 1 << 10, depth: 1 << 6 };
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(parsed) = parse(text, limits) else { return false };
    let inputs: usize = parsed.inputs.iter().sum();
    let outputs: usize = parsed.outputs.iter().sum();
    assert_eq!(parsed.circuit.inputs(), inputs);
    for period in [2, 3] {
        let input: Vec<bool> = (0..inputs).map(|i| i % period == 0).collect();
        let mut wires = input.clone();
        wires.resize(1 << 10, false);
        let gates = text.lines().filter(|line| !line.trim().is_empty()).skip(3);
        let mut set = inputs;
        for gate in gates {
            let fields: Vec<&str> = gate.split_whitespace().collect();
            let number = |i: usize| fields[i].parse::<usize>().expect("it was read");
            let (out, value) = match (fields[fields.len() - 1], number(2)) {
                ("XOR", a) => (number(4), wires[a] ^ wires[number(3)]),
                ("AND", a) => (number(4), wires[a] & wires[number(3)]),
                ("EQ", bit) => (number(3), bit == 1),
                ("EQW", a) => (number(3), wires[a]),
                (_, a) => (number(3), !wires[a]),
            };
            wires[out] = value;
            set += 1;
        }
        assert_eq!(parsed.circuit.evaluate(&input), wires[set - outputs..set]);
    }
    true
}
