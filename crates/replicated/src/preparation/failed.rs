//! Opening a batch that has failed, to find who deviated. It depends on no input, and none of its
//! masks has been given out.

use ostrakon_party::Received;

use crate::accusation::blame::{BatchEvidence, Said, opening_fails};
use crate::accusation::fault::{Evidence, Fault, Statement};
use crate::batch::seeds::BatchSeeds;
use crate::messages::{BatchSpec, Kind};
use crate::pair::Pair;
use crate::run::Run;

/// Opens the batch's seeds with the other parties and finds who deviated.
pub async fn open_batch(run: &Run, spec: &BatchSpec, seeds: &BatchSeeds, said: Said<'_>) -> Fault {
    let own: Vec<u8> =
        Pair::of_party(run.me()).into_iter().flat_map(|pair| *seeds.of(pair).expose()).collect();
    run.send_all(Kind::SeedOpening, own);
    // The pair without this party has an honest member; whoever opens its seed first and truly will
    // do.
    let missing = Pair::without(run.me());
    let accept = |received: &Received| {
        let commitment = Statement::from(&said.statements[received.signed.header.from.index()]);
        let opening = Statement::from(received);
        if opening_fails(&commitment, &opening) {
            return Err(Evidence::Opening {
                commitment: Box::new(commitment),
                opening: Box::new(opening),
            });
        }
        let member = received.signed.header.from.0;
        let place = 32 * usize::from(Pair::of_party(member)[1] == missing);
        Ok(<[u8; 32]>::try_from(&received.body[place..place + 32]).expect("length is checked"))
    };
    let (opened, faults) =
        run.receive_from_either(missing.members(), Kind::SeedOpening, accept).await;
    if let Some(fault) = faults.into_iter().next() {
        return fault;
    }
    let seed = |pair: Pair| if pair == missing { opened } else { *seeds.of(pair).expose() };
    let evidence = BatchEvidence::new(Pair::ALL.map(seed), said);
    let culprit = evidence.deviator(spec, &run.party.roster);
    let culprit = culprit
        .expect("sums that do not cancel, or digests that differ, have a deviation behind them");
    run.fault(culprit, Evidence::Batch(Box::new(evidence)))
}
