//! What owners hand in, and what servers make of it.

use ostrakon_graph::job::Job;
use ostrakon_graph::owner::{self, Edge, ListError, Maps, Upload};
use ostrakon_graph::spec::{Direction, JobSpec};
use ostrakon_graph::stock::Stock;
use ostrakon_party::PartyId;
use ostrakon_testkit::Network;

use super::{Scene, program};
use crate::common::*;

/// Links with one list per owner; returns the accepted lists.
fn accepted(
    deployment: &Deployment,
    stock: &[Vec<u8>],
    uploads: &[Option<Upload>],
    journals: &Journals,
) -> Vec<usize> {
    let linked = all(deployment.link(&Network::default(), stock, program, uploads, journals));
    let lists: Vec<Vec<usize>> = linked.iter().map(|l| l.accepted().collect()).collect();
    assert!(lists[0] == lists[1] && lists[1] == lists[2]);
    lists[0].clone()
}

#[test]
fn a_bad_list_excludes_its_owner_only() {
    let deployment = Deployment::new(27);
    let spec = spec_of(6, 3, &[2, 2], 1, &program());
    let good = [edge(0, 1), edge(1, 2)];
    let at = |order: &[u32], row: u32| order.iter().position(|r| *r == row).unwrap();
    let orders = owner::orders(&spec, 1, &good).unwrap();
    let left_out = |make: &dyn Fn(&[Vec<u8>], &Journals) -> Maps| {
        let journals = Journals::default();
        let stock = deployment.stock(&spec, program, &journals);
        let uploads = [
            Some(deployment.upload(&stock, program, 0, &good, &journals)),
            Some(deployment.sign(&spec, 1, make(&stock, &journals).encode())),
        ];
        assert_eq!(accepted(&deployment, &stock, &uploads, &journals), [0]);
    };
    // Vertices out of order at the source, and at the target.
    for (which, one, other) in [(0, 0, 1), (1, 1, 2)] {
        let mut orders = orders.clone();
        let (one, other) = (at(&orders[which], one), at(&orders[which], other));
        orders[which].swap(one, other);
        left_out(&|stock, journals| deployment.maps_of(stock, &program, 1, &orders, journals));
    }
    // Both orders are a graph's, but the middle map leads a vertex's row to the place of an edge's.
    // If the edge is the vertex's loop no count tells, but the labels do.
    let loops = [edge(0, 0), edge(1, 2)];
    let place = |row| at(&owner::orders(&spec, 1, &loops).unwrap()[1], row);
    for (edges, one, other) in [(&good, 0, 1), (&loops, place(0), place(3))] {
        left_out(&|stock, journals| {
            let mut maps = deployment.maps(stock, &program, 1, edges, journals);
            maps.0[1].swap(one, other);
            maps
        });
    }
}

#[test]
fn maps_that_are_no_permutations_or_too_long_are_not_uploads() {
    let deployment = Deployment::new(28);
    let spec = spec_of(7, 3, &[2, 2], 1, &program());
    let journals = Journals::default();
    let stock = deployment.stock(&spec, program, &journals);
    let good = [edge(0, 1)];
    let mut twice = deployment.maps(&stock, &program, 1, &good, &journals);
    twice.0[2][0] = twice.0[2][1];
    let mut beyond = deployment.maps(&stock, &program, 1, &good, &journals);
    beyond.0[0][0] = 5;
    let whole = deployment.maps(&stock, &program, 1, &good, &journals).encode();
    for body in [twice.encode(), beyond.encode(), whole[..59].to_vec(), [&whole[..], &[0]].concat()]
    {
        assert!(Maps::decode(&body, 5).is_none());
        let journals = Journals::default();
        let uploads = [
            Some(deployment.upload(&stock, program, 0, &good, &journals)),
            Some(deployment.sign(&spec, 1, body)),
        ];
        assert_eq!(accepted(&deployment, &stock, &uploads, &journals), [0]);
    }
    // An owner that keeps to the rules cannot even make such a list.
    let six = vec![edge(0, 1); 3];
    assert_eq!(owner::orders(&spec, 1, &six), Err(ListError::TooMany(3, 2)));
    assert_eq!(owner::orders(&spec, 1, &[edge(0, 3)]), Err(ListError::NoSuchVertex(3)));
    let same = JobSpec { lists: vec![spec.lists[0]; 2], ..spec };
    assert!(Job::new(same, program()).is_none(), "an owner has one list");
}

#[test]
fn an_upload_counts_if_two_servers_hold_it_and_no_other_is_signed() {
    let deployment = Deployment::new(29);
    let spec = spec_of(8, 3, &[2, 2], 1, &program());
    let good = [edge(0, 1)];
    let journals = Journals::default();
    let stock = deployment.stock(&spec, program, &journals);
    let upload = |list, edges: &[Edge]| {
        Some(deployment.upload(&stock, program, list, edges, &Journals::default()))
    };
    let (one, other) = (upload(1, &good), upload(1, &[edge(1, 2)]));
    let run = |at: [Option<Upload>; 3]| {
        let journals = Journals::default();
        let network = Network::default();
        let each = |party: PartyId| vec![upload(0, &good), at[party.index()].clone()];
        let linked = all(deployment.link_each(&network, &stock, program, each, &journals));
        linked[0].accepted().collect::<Vec<_>>()
    };
    // Who lacks it gets it from the holders, of whom one may be corrupt.
    assert_eq!(run([one.clone(), None, one.clone()]), [0, 1]);
    assert_eq!(run([one.clone(), None, None]), [0]);
    // Signed twice: no rule could choose without giving the corrupt server a say.
    assert_eq!(run([one.clone(), one.clone(), other.clone()]), [0]);
    // Another's signature is none.
    let forged = Some(Upload { signature: other.unwrap().signature, ..one.clone().unwrap() });
    assert_eq!(run([one.clone(), one.clone(), forged]), [0, 1]);
}

#[test]
fn a_corrupt_server_cannot_give_an_owner_other_seeds() {
    let scene = Scene::new(30, Direction::Forward);
    let stock = scene.deployment.stock(&scene.spec, program, &scene.journals);
    for corrupt in 0..3 {
        let issue = |party: usize| {
            let stock = Stock::from_bytes(&stock[party], program()).unwrap();
            let mut issue =
                stock.issue(0, &key(0).verifying_key(), &scene.journals[party]).unwrap().unwrap();
            if party == corrupt {
                issue.seeds.iter_mut().flatten().for_each(|seed| seed[0] ^= 1);
                issue.stated.iter_mut().flatten().for_each(|digest| digest[0] ^= 1);
            }
            issue
        };
        let issues = [issue(0), issue(1), issue(2)];
        let seeds = owner::combine([Some(&issues[0]), Some(&issues[1]), Some(&issues[2])], 3);
        let orders = owner::orders(&scene.spec, 0, &scene.edges).unwrap();
        let maps = Maps::of(&orders, &scene.spec.permutations_of(0), &seeds.unwrap());
        let journals = &scene.journals;
        let want = scene.deployment.maps(&stock, &program, 0, &scene.edges, journals);
        assert_eq!(maps, want, "P{corrupt}");
        let absent = |p: usize| (p != corrupt).then(|| &issues[p]);
        assert!(owner::combine([absent(0), absent(1), absent(2)], 3).is_some(), "two suffice");
    }
    assert!(owner::combine([None, None, None], 3).is_none());
}
