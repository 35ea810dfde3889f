//! Everybody honest: the output is right, and costs what the formulas say.

mod common;

use common::*;
use ostrakon_testkit::Network;

#[test]
fn every_row_comes_out_once_and_absent_slots_are_noise() {
    let deployment = Deployment::new(1);
    let spec = batch(1, 13, 48);
    let stock = deployment.stock(spec);
    let epoch = epoch_of(spec, 2, false);
    let rows = rows_of([0, 1, 2, 5, 7, 12], 48);
    let slots = deployment.slots(&stock, &epoch, &rows);
    let network = Network::default();
    let opened = deployment.epoch(&network, &stock, epoch, |_| slots.clone(), &Default::default());
    let opened: Vec<_> = opened.into_iter().map(|opened| opened.unwrap().unwrap()).collect();
    for party in &opened {
        assert_eq!(party.table, opened[0].table, "all three hold the same board");
        assert_eq!(party.accepted, 6);
        assert!(party.faults.is_empty() && party.trusted.is_none());
        assert_eq!(recognised(&party.table, &rows), [0, 1, 2, 5, 7, 12]);
    }
}
