//! Elections from whole files.
//!
//! `consensus` and `consensus-microdesc` are the Tor network's consensuses of 2026-07-27, 10:00, as
//! the Tor Project's test data have them (crate `tor-netdoc`, `testdata-live`): cut down to five
//! relays there; here without contacts, and with one of the signatures.

use ostrakon_computation::election::{Beacon, Strength, Table, TooWeak};

const CONSENSUS: &str = include_str!("consensus");
const MICRODESC: &str = include_str!("consensus-microdesc");

/// Two of five: no figure for use.
fn weak(members: usize) -> Strength {
    Strength { members, corrupt: 0.25, withheld: 0, elections: 1, security: 1, engine: 46 }
}

#[test]
fn the_tor_networks_consensus_is_read_in_both_forms_and_drawn_from() {
    let read = |text| {
        let table = Table::parse(text).unwrap();
        let of = |o: &ostrakon_computation::election::Operator| (o.name.clone(), o.weight);
        (table.operators().iter().map(of).collect::<Vec<_>>(), table.digest().to_hex())
    };
    let (operators, digest) = read(CONSENSUS);
    let expected =
        [("lisdex", 53_000), ("moria1", 20), ("Ukko", 82_000), ("d2d4", 31_000), ("Akka", 100_000)];
    assert_eq!(operators, expected.map(|(name, weight)| (name.to_owned(), weight)));
    assert_eq!(digest, "84fe3ca21a3a5065aef5af2d7887c42b3fb32683dd5cc9c8ca9f0c4b40d4dc0f");
    assert_eq!(read(MICRODESC), (operators, digest), "both forms name the same relays");
    let table = Table::parse(CONSENSUS).unwrap();
    let drawn = table.draw(&Beacon([7; 32]), &weak(2)).unwrap();
    assert_eq!(drawn.iter().map(|o| o.name.as_str()).collect::<Vec<_>>(), ["Ukko", "Akka"]);
    let strong = Strength { security: 40, ..weak(26) };
    let refused = table.draw(&Beacon([7; 32]), &strong).unwrap_err();
    assert_eq!(refused, TooWeak::Families { there: 5, asked: 26 });
}

/// As many relays as the paper reckons with, a few of which have most of the weight.
fn generated(relays: usize) -> String {
    let mut text = String::from("network-status-version 3\nvote-status consensus\n");
    for i in 1..=relays {
        let weight = 200_000 / i + 20;
        text += &format!(
            "r relay{i} {i:027} 2026-07-27 10:00:00 192.0.2.1 9001 0\ns Running Valid\n\
             w Bandwidth={weight}\n"
        );
    }
    text + "directory-footer\n"
}

#[test]
fn committees_of_thousands_of_relays_are_drawn_and_differ_by_beacon() {
    let table = Table::parse(&generated(7000)).unwrap();
    let strong = Strength { security: 40, ..weak(26) };
    let drawn = |beacon| {
        let drawn = table.draw(&Beacon([beacon; 32]), &strong).unwrap();
        drawn.into_iter().map(|o| o.id.clone()).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(drawn(1).len(), 26, "each once");
    assert_ne!(drawn(1), drawn(2));
    assert_eq!(drawn(1), drawn(1));
}
