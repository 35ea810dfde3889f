//! Receipts, seals and keys of members.

use ostrakon_crypto::{Digest, Secret, SigningKey};

use super::{Scene, reporter_key, sum_of_four_bits};
use crate::seal::acknowledge;
use crate::{
    BadCommittee, Committee, Contradiction, ExchangeKey, Member, Receipt, Report, Seal, Value,
    report,
};

fn checked(scene: &Scene, reporter: u8, number: u64) -> Report {
    report::check(&scene.made(reporter, &Value::Number(number)), &scene.scope()).unwrap()
}

/// Attack: a member answers "taken" and drops the report. Its own signature is no receipt, and the
/// report counts if any member has it.
#[test]
fn a_member_that_drops_a_report_excludes_nobody() {
    let scene = Scene::new(1, 3, sum_of_four_bits());
    let reports: Vec<Report> = (0..3).map(|i| checked(&scene, i, 5)).collect();
    let sign = |i: u8| acknowledge(&reports[0], &scene.world.key(ostrakon_party::PartyId(i)));
    let receipt = |signatures| Receipt { report: reports[0].digest(), signatures };
    let all: Vec<_> = (0..3).map(sign).collect();
    assert!(receipt(all.clone()).is_complete(&scene.committee));
    assert!(!receipt(all[..1].to_vec()).is_complete(&scene.committee), "one alone");
    assert!(!receipt(vec![all[0]; 3]).is_complete(&scene.committee), "one three times");
    assert!(!receipt(vec![all[0], all[2], all[1]]).is_complete(&scene.committee), "in disorder");
    let other = Receipt { report: reports[1].digest(), signatures: all };
    assert!(!other.is_complete(&scene.committee), "of another report");
    // One member has the first two, another one the last two, in any order.
    let held = [&reports[..2], &reports[1..]].concat();
    let seal = Seal::of(held.into_iter().rev());
    assert_eq!(seal.reports.len(), 3);
    assert_eq!(seal.digest(), Seal::of(reports).digest());
}

/// Attack: a reporter gives different reports to different members.
#[test]
fn two_different_reports_of_one_key_both_drop() {
    let scene = Scene::new(2, 2, sum_of_four_bits());
    let [first, second] = [3, 4].map(|number| checked(&scene, 1, number));
    let honest = checked(&scene, 2, 7);
    let seal = Seal::of([first.clone(), honest.clone(), second.clone(), first.clone()]);
    assert_eq!(seal.reports.len(), 1);
    assert_eq!(seal.reports[0].reporter(), reporter_key(2).verifying_key());
    let [contradiction] = &seal.contradictions[..] else { panic!("one") };
    assert!(contradiction.holds(&scene.scope()));
    let mut framed = contradiction.clone();
    framed.reporter = reporter_key(2).verifying_key();
    assert!(!framed.holds(&scene.scope()), "nobody else is convicted");
    let reports = [first.bytes().to_vec(), first.bytes().to_vec()];
    let same = Contradiction { reporter: first.reporter(), reports };
    assert!(!same.holds(&scene.scope()), "the same report twice is no contradiction");
}

fn members(seed: u64, count: u8) -> Vec<Member> {
    let scene = Scene::new(seed, count.into(), sum_of_four_bits());
    scene.committee.members().to_vec()
}

/// Attack: a member enters a point that is made of others', or puts another point beside somebody's
/// name.
#[test]
fn a_member_whose_keys_are_not_proven_is_no_member() {
    let good = members(3, 3);
    let refused = |members: &[Member]| Committee::new(members.to_vec()).err();
    assert_eq!(refused(&good), None);
    assert_eq!(refused(&good[..1]), Some(BadCommittee::Size));
    assert_eq!(refused(&[good[0].clone(), good[0].clone()]), Some(BadCommittee::Twice(1)));
    let own = ExchangeKey::from_seed(&Secret::new([1; 32]));
    let mallory = SigningKey::from_seed(&[66; 32]);
    for (what, change) in [
        (
            "another's point and proof",
            (|member, other| {
                member.point = other.point;
                member.possession = other.possession;
            }) as fn(&mut Member, &Member),
        ),
        ("another's point", |member, other| member.point = other.point),
        ("another's proof", |member, other| member.possession = other.possession),
        ("another's signature", |member, other| member.endorsement = other.endorsement),
        ("the neutral point", |member, _| member.point = [0; 32]),
        ("no point", |member, _| member.point = [0xff; 32]),
    ] {
        let mut changed = vec![good[0].clone(), own.member(&mallory)];
        change(&mut changed[1], &good[2]);
        assert_eq!(refused(&changed), Some(BadCommittee::Unproven(1)), "{what}");
    }
    // Somebody's name beside one's own point, signed by oneself.
    let mut renamed = own.member(&mallory);
    renamed.key = good[2].key;
    assert_eq!(refused(&[good[0].clone(), renamed]), Some(BadCommittee::Unproven(1)));
}

#[test]
fn members_read_back_and_nothing_else_does() {
    for member in members(4, 2) {
        let bytes = member.to_bytes();
        assert_eq!(Member::from_bytes(&bytes).as_ref(), Some(&member));
        assert_eq!(Member::from_bytes(&bytes[1..]), None);
        let written = postcard::to_allocvec(&member).unwrap();
        assert_eq!(postcard::from_bytes::<Member>(&written).unwrap(), member);
        assert!(postcard::from_bytes::<Member>(&written[..written.len() - 1]).is_err());
    }
    let digests: Vec<Digest> =
        (5..8).map(|seed| Scene::new(seed, 2, sum_of_four_bits()).committee.digest()).collect();
    assert!(digests[0] != digests[1] && digests[1] != digests[2]);
}
