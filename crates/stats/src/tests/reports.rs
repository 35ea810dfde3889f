//! What a stranger can hand in.

use curve25519_dalek::ristretto::RistrettoPoint;
use curve25519_dalek::scalar::Scalar;
use ostrakon_crypto::{Digest, Secret};

use super::{Scene, reporter_key, sum_of_four_bits};
use crate::group;
use crate::report::{Field, forge, length};
use crate::{BadReport, BadValue, Form, Question, Report, Scope, Statistic, Value, report};

const HEAD: usize = 4 + 32 + 32;

fn shares(scene: &Scene, report: &Report, field: Field) -> Vec<crate::report::shares::Share> {
    let share = |(i, exchange): (usize, &crate::ExchangeKey)| {
        let sent = report.ephemeral(field);
        let z = (exchange.secret() * sent.point).compress().0;
        let key = report.label(field).key(i, &sent.encoded, &z);
        crate::report::shares::Share::of(field, &key, scene.question.form.bits())
    };
    scene.exchanges.iter().enumerate().map(share).collect()
}

/// The members' shares are those that the reporter has reckoned with: y holds, and E opens.
#[test]
fn what_the_reporter_expands_is_what_the_members_do() {
    use crate::report::shares::{Share, check};
    for parties in [2, 3, 5] {
        let scene = Scene::new(1, parties, sum_of_four_bits());
        for number in 0..16 {
            let bytes = scene.made(3, &Value::Number(number));
            let report = report::check(&bytes, &scene.scope()).unwrap();
            let sum = |field: Field| {
                let all = shares(&scene, &report, field);
                let mut sum = all[0].clone();
                all[1..].iter().for_each(|share| sum.add(share));
                sum
            };
            let Share::Chi(chi) = sum(Field::Chi) else { panic!() };
            let Share::S(first, s) = sum(Field::S) else { panic!() };
            let Share::E(e) = sum(Field::E) else { panic!() };
            assert_eq!(check(first, &s, &chi), report.stated());
            let mut open = report.masked().clone();
            open.xor(&e);
            open.xor(&s);
            assert_eq!(u64::from(open.to_bytes()[0]), number);
        }
    }
}

#[test]
fn sizes_are_those_of_the_formula_whatever_the_committee() {
    let of = |form, statistics| Question { form, statistics, ..sum_of_four_bits() };
    let number = |width| of(Form::Number { width }, vec![Statistic::Sum]);
    assert_eq!(length(&number(32)), 68 + 192 + 8 + 4 + 64 + 64);
    assert_eq!(length(&number(32)), 400);
    assert_eq!(length(&number(5)), 397);
    let items = of(Form::Items { counters: 1024 }, vec![Statistic::Distinct]);
    assert_eq!(length(&items), 68 + 64 + 10_240 + 64 + 64);
    for parties in [2, 7] {
        let scene = Scene::new(1, parties, number(32));
        assert_eq!(scene.made(1, &Value::Number(77)).len(), 400);
    }
}

/// Attack (attacks.md 5.1, N-item 13): an observer copies the points of a victim's field e into a
/// field of its own that is always opened. What members would show is the victim's share.
#[test]
fn a_copied_ephemeral_under_another_label_is_refused() {
    let scene = Scene::new(2, 3, sum_of_four_bits());
    let victim = scene.made(1, &Value::Number(9));
    let checked = report::check(&victim, &scene.scope()).unwrap();
    let mallory = reporter_key(66);
    let point = |field: Field| HEAD + 64 * (field as usize - 1);
    let own = scene.made(66, &Value::Number(0));
    let with = |pair: &[u8]| {
        let mut copy = own[..own.len() - 64].to_vec();
        copy[point(Field::Chi)..][..64].copy_from_slice(pair);
        forge::sign(copy, &mallory)
    };
    let theirs = &victim[point(Field::E)..][..64];
    let refused = |bytes: &[u8]| report::check(bytes, &scene.scope()).err();
    assert_eq!(refused(&with(theirs)), Some(BadReport::Proof));
    // A copy that is re-randomised, R + bG, would open it as well.
    let b = Scalar::from(12345u64);
    let sent = checked.ephemeral(Field::E);
    let shifted = sent.point + RistrettoPoint::mul_base(&b);
    let pair = [shifted.compress().0.as_slice(), &theirs[32..]].concat();
    assert_eq!(refused(&with(&pair)), Some(BadReport::Proof));
    // The whole report under another name: the proof is about the victim's point.
    let mut renamed = victim[..victim.len() - 64].to_vec();
    renamed[36..HEAD].copy_from_slice(&mallory.verifying_key().0);
    assert_eq!(refused(&forge::sign(renamed, &mallory)), Some(BadReport::Proof));
    // Why: without the proof, the point that a member shows gives the victim's share.
    for (i, exchange) in scene.exchanges.iter().enumerate() {
        let shown = exchange.secret() * shifted;
        let z = (shown - b * scene.committee.points()[i]).compress().0;
        let key = checked.label(Field::E).key(i, &sent.encoded, &z);
        let own = (exchange.secret() * sent.point).compress().0;
        let expected = checked.label(Field::E).key(i, &sent.encoded, &own);
        assert_eq!(key.expose(), expected.expose(), "the victim's key");
    }
}

/// Attack: the same, with a second field of which the points take the victim's away again, so that
/// the sums over all fields are the reporter's own.
#[test]
fn a_copied_ephemeral_that_another_field_takes_away_is_refused() {
    let scene = Scene::new(2, 3, sum_of_four_bits());
    let victim = scene.made(1, &Value::Number(9));
    let point = |bytes: &[u8], at: usize| group::decode(&bytes[at..][..32]).unwrap();
    let theirs = HEAD + 64 * (Field::E as usize - 1);
    let randomness = Secret::new([5; 32]);
    let made = |change: &dyn Fn(&mut [u8])| {
        let made = forge::changed(&scene.scope(), 0, &reporter_key(66), &randomness, change);
        report::check(&made.unwrap(), &scene.scope()).err()
    };
    let [chi, s] = [Field::Chi, Field::S].map(|field| HEAD + 64 * (field as usize - 1));
    let refused = made(&|stated| {
        for half in [0, 32] {
            let copied = point(&victim, theirs + half);
            let sums = [point(stated, chi + half) + copied, point(stated, s + half) - copied];
            stated[chi + half..][..32].copy_from_slice(&sums[0].compress().0);
            stated[s + half..][..32].copy_from_slice(&sums[1].compress().0);
        }
    });
    assert_eq!(refused, Some(BadReport::Proof));
    assert_eq!(made(&|_| ()), None, "with its own points");
}

/// Attack (attacks.md 5.1): a sketch is handed in a second time under another name, so that it
/// cancels the victim's in the sum of all, or so that members show points of the victim's.
#[test]
fn a_copied_sketch_is_refused_also_with_points_of_its_own() {
    let scene = Scene::new(8, 3, super::different_things());
    let things = Value::Items(vec![b"a".to_vec(), b"b".to_vec()], scene.places());
    let (victim, own) = (scene.made(1, &things), scene.made(66, &things));
    let mallory = reporter_key(66);
    let checked = report::check(&victim, &scene.scope()).unwrap();
    let refused = |body: Vec<u8>| report::check(&forge::sign(body, &mallory), &scene.scope()).err();
    let body = |report: &[u8]| report[..report.len() - 64].to_vec();
    // All of it, under Mallory's name.
    let mut renamed = body(&victim);
    renamed[36..HEAD].copy_from_slice(&mallory.verifying_key().0);
    assert_eq!(refused(renamed.clone()), Some(BadReport::Proof));
    // With R shifted by a known scalar, so that nobody sees the same point twice.
    let shift = RistrettoPoint::mul_base(&Scalar::from(77u64));
    let shifted = (checked.ephemeral(Field::E).point + shift).compress();
    renamed[HEAD..HEAD + 32].copy_from_slice(&shifted.0);
    assert_eq!(refused(renamed), Some(BadReport::Proof));
    // The victim's masked sketch under Mallory's points, and the victim's points under Mallory's
    // sketch: each with Mallory's proof for what it was.
    let masked = HEAD + 64..victim.len() - 64 - 64;
    for part in [masked, HEAD..HEAD + 64, HEAD..HEAD + 32] {
        let mut mixed = body(&own);
        mixed[part.clone()].copy_from_slice(&victim[part.clone()]);
        assert_eq!(refused(mixed), Some(BadReport::Proof), "{part:?}");
    }
    assert!(report::check(&own, &scene.scope()).is_ok());
}

/// Attack: what was reported to one question, committee, subject or call is handed in to another.
#[test]
fn a_report_is_void_under_any_other_scope() {
    let scene = Scene::new(3, 2, sum_of_four_bits());
    let bytes = scene.made(1, &Value::Number(9));
    let other = Scene::new(4, 2, sum_of_four_bits());
    let asked = Question { text: "How few?".into(), ..sum_of_four_bits() };
    let scope = scene.scope();
    for wrong in [
        Scope { subject: Digest([8; 32]), ..scope },
        Scope { committee: &other.committee, ..scope },
        Scope { question: &asked, ..scope },
        Scope { number: 1, ..scope },
    ] {
        assert_eq!(report::check(&bytes, &wrong).err(), Some(BadReport::Scope));
        // Also if its reporter signs it again for the other scope.
        let mut moved = bytes[..bytes.len() - 64].to_vec();
        moved[4..36].copy_from_slice(&wrong.digest().0);
        let moved = forge::sign(moved, &reporter_key(1));
        assert_eq!(report::check(&moved, &wrong).err(), Some(BadReport::Proof));
    }
    assert!(report::check(&bytes, &scope).is_ok());
}

#[test]
fn every_changed_byte_and_every_other_length_is_refused() {
    let scene = Scene::new(5, 2, sum_of_four_bits());
    let bytes = scene.made(1, &Value::Number(9));
    for i in 0..bytes.len() {
        for bit in [0x01, 0x80] {
            let mut changed = bytes.clone();
            changed[i] ^= bit;
            assert!(report::check(&changed, &scene.scope()).is_err(), "byte {i}, {bit:#x}");
            // The same, signed by its reporter: everything is in the proof too.
            if (HEAD..bytes.len() - 64).contains(&i) {
                let body = changed[..changed.len() - 64].to_vec();
                let signed = forge::sign(body, &reporter_key(1));
                let refused = report::check(&signed, &scene.scope()).err();
                assert!(refused.is_some(), "byte {i}, {bit:#x}, signed");
            }
        }
    }
    for length in (0..bytes.len()).chain([bytes.len() + 1]) {
        let mut other = bytes.clone();
        other.resize(length, 0);
        assert_eq!(report::check(&other, &scene.scope()).err(), Some(BadReport::Form));
    }
}

#[test]
fn what_does_not_fit_the_question_is_not_reported() {
    let of =
        |form, statistics| Scene::new(6, 2, Question { form, statistics, ..sum_of_four_bits() });
    let make = |scene: &Scene, value: &Value| {
        let randomness = Secret::new([1; 32]);
        report::make(&scene.scope(), value, &reporter_key(1), &randomness).err()
    };
    let numbers = of(Form::Number { width: 4 }, vec![Statistic::Sum]);
    assert_eq!(make(&numbers, &Value::Number(16)), Some(BadValue::TooLarge(15)));
    assert_eq!(make(&numbers, &Value::Number(15)), None);
    let kind = |scene: &Scene, value: &Value| matches!(make(scene, value), Some(BadValue::Kind(_)));
    assert!(kind(&numbers, &Value::Items(Vec::new(), numbers.places())));
    let grouped = of(Form::Grouped { width: 4, groups: 3 }, vec![Statistic::Sum]);
    assert!(kind(&grouped, &Value::Number(3)));
    let group = |group| make(&grouped, &Value::Grouped { group, number: 1 });
    assert_eq!((group(2), group(3)), (None, Some(BadValue::Group(2))));
}

/// The same randomness for two numbers would be no mask: the two reports have nothing in common.
#[test]
fn randomness_that_is_used_twice_hides_both_numbers() {
    let scene = Scene::new(7, 2, sum_of_four_bits());
    let [a, b] = [3, 4].map(|number| scene.made(1, &Value::Number(number)));
    let points = HEAD..HEAD + 192;
    for (a, b) in a[points.clone()].chunks(32).zip(b[points].chunks(32)) {
        assert_ne!(a, b);
    }
}
