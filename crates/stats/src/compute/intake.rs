//! How reports become bits under the committee's key (`docs/spec/statistics.md`, steps 7 to 13).

use ostrakon_authbits::cost::{self, Cost};
use ostrakon_authbits::{
    Adjusted, Bits, Elements, Journal, OpenedElements, Segment, Settled, Shares,
};
use ostrakon_crypto::{Digest, Signature, Transcript};
use ostrakon_party::{PartyId, SessionId};

use super::fault::{Failed, Lie};
use super::marks;
#[cfg(test)]
use super::plan::Cheat;
use super::plan::Plan;
use crate::opening::{self, Evidence, Opening, complained, examine, of_batch, of_complaint};
use crate::report::shares::Share;
use crate::report::{Field, Report};

/// Bits of s_0.
const FIRST: usize = 64;

/// One run's reports on their way in, at one member.
pub(crate) struct Intake<'a, J: ?Sized> {
    pub(crate) plan: &'a Plan<'a>,
    pub(crate) segment: &'a mut Segment,
    pub(crate) journal: &'a mut J,
    pub(crate) cost: Cost,
}

/// A report that does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excluded {
    /// Its place in the seal.
    pub report: usize,
    /// Why, for anybody to check.
    pub evidence: Evidence,
}

/// Reports under the key.
pub(crate) struct Taken {
    pub(crate) inputs: Shares,
    pub(crate) accepted: usize,
    pub(crate) excluded: Vec<Excluded>,
    pub(crate) list: Digest,
    pub(crate) signatures: Vec<Signature>,
    pub(crate) cost: Cost,
}

/// What all members sign before anything of an accepted report is shown: the run, the seal, and
/// the places in it of the reports that do not count.
pub fn verdict(session: &SessionId, seal: &Digest, excluded: &[usize]) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/stats/verdict");
    transcript.field(&session.0.0).field(&seal.0).number(excluded.len() as u64);
    excluded.iter().for_each(|place| {
        transcript.number(*place as u64);
    });
    transcript.finish()
}

/// s_0 and s, one after the other.
fn mask_of(first: u64, bits: &Bits) -> Bits {
    let mut mask: Bits = (0..FIRST).map(|i| first >> i & 1 == 1).collect();
    mask.append(bits);
    mask
}

fn party(i: usize) -> PartyId {
    PartyId(u8::try_from(i).unwrap_or(u8::MAX))
}

fn lied(i: usize, lie: Lie) -> Failed {
    Failed::Member { member: party(i), lie }
}

impl<J: Journal + ?Sized> Intake<'_, J> {
    fn me(&self) -> usize {
        self.plan.party.id.index()
    }

    fn bits(&self) -> usize {
        self.plan.scope.question.form.bits()
    }

    fn spend(&mut self, cost: Cost) {
        self.cost = self.cost + cost;
    }

    /// The own share of a field of a report.
    fn own_share(&self, report: &Report, field: Field) -> Share {
        let sent = report.ephemeral(field);
        let z = (self.plan.exchange.secret() * sent.point).compress().0;
        let key = report.label(field).key(self.me(), &sent.encoded, &z);
        Share::of(field, &key, self.bits())
    }

    /// Steps 7 to 13 for numbers.
    pub(crate) async fn numbers(mut self) -> Result<Taken, Failed> {
        let adjusted = self.adjust().await?;
        let all: Vec<usize> = (0..self.plan.reports.len()).collect();
        // Step 8. Everything that χ checks is fixed, and known alike to all.
        let chi = self.open(Field::Chi, &all).await?;
        let complaints = self.check(&adjusted, &chi).await?;
        let excluded = self.complain(&adjusted, &complaints).await?;
        let (list, signatures) = self.countersign(&excluded).await?;
        let accepted: Vec<usize> =
            all.into_iter().filter(|i| !excluded.iter().any(|out| out.report == *i)).collect();
        self.plan.enough(accepted.len())?;
        // Step 13.
        let shown = accepted.iter().map(|i| (*i, &self.plan.reports[*i]));
        marks::show(self.journal, Field::E, shown)?;
        let covers = self.open(Field::E, &accepted).await?;
        let inputs = self.uncover(&adjusted, &accepted, &covers)?;
        let (accepted, cost) = (accepted.len(), self.cost);
        Ok(Taken { inputs, accepted, excluded, list, signatures, cost })
    }

    /// Step 7: s under the key.
    async fn adjust(&mut self) -> Result<Adjusted, Failed> {
        let (reports, length) = (self.plan.reports, FIRST + self.bits());
        let mut dealt = Bits::default();
        for report in reports {
            let Share::S(first, bits) = self.own_share(report, Field::S) else { continue };
            dealt.append(&mask_of(first, &bits));
        }
        #[cfg(test)]
        match self.plan.cheat {
            Cheat::Difference => dealt.xor_bit(2 * length - 1, true),
            Cheat::Unseen(chi) => {
                dealt.xor_bit(FIRST, true);
                (0..FIRST).for_each(|i| dealt.xor_bit(i, chi >> i & 1 == 1));
            }
            Cheat::Nothing | Cheat::Element => {}
        }
        let masks = self.segment.masks(dealt.len()).await?;
        let difference = masks.difference(&dealt);
        let of_report = (0..reports.len()).map(|i| difference.slice(i * length, length));
        marks::adjust(self.journal, &self.plan.name(), reports, of_report)?;
        let adjusted = self.segment.adjust(masks, &difference).await?;
        self.segment.compare().await?;
        let parties = self.plan.parties();
        self.spend(cost::random(parties, dealt.len()));
        self.spend(cost::adjust(parties, dealt.len()));
        Ok(adjusted)
    }

    /// Opens a field of some reports, and returns the sums of all members' shares.
    async fn open(&mut self, field: Field, which: &[usize]) -> Result<Vec<Share>, Failed> {
        let (plan, me, bits) = (self.plan, self.me(), self.bits());
        let reports: Vec<&Report> = which.iter().map(|i| &plan.reports[*i]).collect();
        let ephemerals: Vec<_> = reports.iter().map(|report| *report.ephemeral(field)).collect();
        let purpose = |member: usize| of_batch(&plan.name(), field, member);
        let body = opening::show(plan.exchange, &purpose(me), &ephemerals);
        self.spend(cost::state(plan.parties(), body.len()));
        let stated = self.segment.state(body).await?;
        let mut sums: Vec<Share> = Vec::new();
        for (i, public) in plan.scope.committee.points().iter().enumerate() {
            let points = if i == me {
                opening::points(&stated[i], ephemerals.len())
            } else {
                let points = opening::verify(public, &purpose(i), &ephemerals, &stated[i]);
                points.ok_or(lied(i, Lie::Opening))?
            };
            let share = |(report, point): (&&Report, &_)| {
                let key = report.label(field).key(i, &report.ephemeral(field).encoded, point);
                Share::of(field, &key, bits)
            };
            let shares = reports.iter().zip(points).map(share);
            if sums.is_empty() {
                sums = shares.collect();
            } else {
                sums.iter_mut().zip(shares).for_each(|(sum, share)| sum.add(&share));
            }
        }
        Ok(sums)
    }

    /// Step 9: opens ŷ of every report, and checks it. Returns the reports whose y is another.
    async fn check(&mut self, adjusted: &Adjusted, chi: &[Share]) -> Result<Vec<usize>, Failed> {
        let length = FIRST + self.bits();
        let mut elements = Elements::new(adjusted);
        for (i, share) in chi.iter().enumerate() {
            let Share::Chi(chi) = share else { continue };
            let first = (0..FIRST).map(|i| 1 << i);
            let coefficients: Vec<u64> = first.chain(chi.iter().copied()).collect();
            #[cfg(test)]
            let coefficients = self.plan.cheat.twist(i, coefficients);
            elements.push(adjusted, i * length, coefficients);
        }
        self.spend(cost::elements(self.plan.parties(), chi.len()));
        let opened = self.segment.open_elements(&elements).await?;
        if !opened.passed {
            return Err(self.settle(adjusted, &elements, &opened).await?);
        }
        let differs = |i: &usize| opened.values[*i] != self.plan.reports[*i].stated();
        Ok((0..opened.values.len()).filter(differs).collect())
    }

    /// Every report is marked: nothing of the run may be shown any more but its masks.
    fn end_all(&mut self) -> Result<(), Failed> {
        marks::show(self.journal, Field::S, self.plan.reports.iter().enumerate())
    }

    /// Step 12: the check has failed, and the key is known to whoever has made it fail.
    async fn settle(
        &mut self,
        adjusted: &Adjusted,
        elements: &Elements,
        opened: &OpenedElements,
    ) -> Result<Failed, Failed> {
        self.end_all()?;
        let whole = 0..adjusted.shares().len();
        let shown = self.segment.account(adjusted, &[whole]).await?;
        let mut masks = Vec::with_capacity(shown.len());
        for (i, mask) in shown.into_iter().enumerate() {
            match mask {
                Some(mask) => masks.push(mask),
                None => return Ok(lied(i, Lie::Masks)),
            }
        }
        Ok(match self.segment.settle(adjusted, elements, opened, &masks).await? {
            Settled::Liar(i) => lied(i, Lie::Check),
            Settled::Dispute(i, k) => Failed::Dispute(party(i), party(k)),
        })
    }

    /// Step 10: shows s of the reports whose y is another than the committee's. Returns those whose
    /// y is wrong.
    async fn complain(
        &mut self,
        adjusted: &Adjusted,
        complaints: &[usize],
    ) -> Result<Vec<Excluded>, Failed> {
        if complaints.is_empty() {
            return Ok(Vec::new());
        }
        let (plan, me) = (self.plan, self.me());
        marks::show(self.journal, Field::S, complaints.iter().map(|i| (*i, &plan.reports[*i])))?;
        let show = |i: &usize| {
            let report = &plan.reports[*i];
            opening::show(plan.exchange, &of_complaint(report, me), &complained(report))
        };
        let body: Vec<u8> = complaints.iter().flat_map(show).collect();
        self.spend(cost::state(plan.parties(), body.len()));
        let stated = self.segment.state(body).await?;
        let (mut excluded, mut right) = (Vec::new(), Vec::new());
        for (n, &i) in complaints.iter().enumerate() {
            let report = &plan.reports[i];
            let part = n * Opening::BYTES..(n + 1) * Opening::BYTES;
            let of_member = |body: &bytes::Bytes| Opening { points: body[part.clone()].to_vec() };
            let openings: Vec<Opening> = stated.iter().map(of_member).collect();
            let examined = examine(report, &plan.scope, &openings);
            let (y, shares) = examined.map_err(|liar| lied(liar, Lie::Opening))?;
            if y == report.stated() {
                right.push((i, shares));
            } else {
                let evidence = Evidence { report: report.bytes().to_vec(), openings };
                excluded.push(Excluded { report: i, evidence });
            }
        }
        if right.is_empty() { Ok(excluded) } else { Err(self.blame(adjusted, &right).await?) }
    }

    /// Step 11: y is right and the committee's is not, so that somebody has put in something else
    /// than its share.
    async fn blame(
        &mut self,
        adjusted: &Adjusted,
        right: &[(usize, Vec<Share>)],
    ) -> Result<Failed, Failed> {
        self.end_all()?;
        let length = FIRST + self.bits();
        let ranges: Vec<_> = right.iter().map(|(i, _)| i * length..(i + 1) * length).collect();
        let shown = self.segment.account(adjusted, &ranges).await?;
        for (member, mask) in shown.iter().enumerate() {
            let Some(mask) = mask else { return Ok(lied(member, Lie::Masks)) };
            for (n, (range, (_, shares))) in ranges.iter().zip(right).enumerate() {
                let Share::S(first, bits) = &shares[member] else { continue };
                let mut dealt = mask_of(*first, bits);
                dealt.xor(&mask.slice(n * length, length));
                let said = adjusted.said()[member].slice(range.start, length);
                if dealt != said {
                    return Ok(lied(member, Lie::Difference));
                }
            }
        }
        // Masks and differences of all are right, and so is their sum.
        Ok(Failed::Contradiction)
    }

    /// Step 13: all members sign which reports count, before anything of one is shown.
    async fn countersign(
        &mut self,
        excluded: &[Excluded],
    ) -> Result<(Digest, Vec<Signature>), Failed> {
        let plan = self.plan;
        let places: Vec<usize> = excluded.iter().map(|excluded| excluded.report).collect();
        let list = verdict(&plan.party.roster.session, &plan.seal, &places);
        let own = plan.party.sign(&list).0.to_vec();
        self.spend(cost::state(plan.parties(), own.len()));
        let stated = self.segment.state(own).await?;
        let mut signatures = Vec::with_capacity(stated.len());
        for (i, (said, key)) in stated.iter().zip(&plan.party.roster.keys).enumerate() {
            let signature = said[..].try_into().map(Signature).ok();
            let signature = signature.filter(|signature| key.verifies(&list, signature));
            signatures.push(signature.ok_or(lied(i, Lie::List))?);
        }
        Ok((list, signatures))
    }

    /// [[x]] = [[s]] ⊕ (E ⊕ e) of the accepted reports.
    fn uncover(
        &self,
        adjusted: &Adjusted,
        accepted: &[usize],
        covers: &[Share],
    ) -> Result<Shares, Failed> {
        let (bits, length) = (self.bits(), FIRST + self.bits());
        let mut inputs: Option<Shares> = None;
        let mut public = Bits::default();
        for (&i, cover) in accepted.iter().zip(covers) {
            let part = adjusted.shares().slice(i * length + FIRST, bits);
            match &mut inputs {
                None => inputs = Some(part),
                Some(inputs) => inputs.append(&part),
            }
            let Share::E(e) = cover else { continue };
            let mut open = self.plan.reports[i].masked().clone();
            open.xor(e);
            public.append(&open);
        }
        let mut inputs = inputs.ok_or(Failed::TooFew { missing: 1 })?;
        self.segment.xor_public(&mut inputs, &public)?;
        Ok(inputs)
    }

    /// Steps 7 and 13 for sketches: the sum of all comes under the key, and no report is opened.
    pub(crate) async fn sketches(mut self) -> Result<Taken, Failed> {
        let (plan, bits, parties) = (self.plan, self.bits(), self.plan.parties());
        let mut dealt = Bits::zeros(bits);
        for report in plan.reports {
            if let Share::E(e) = self.own_share(report, Field::E) {
                dealt.xor(&e);
            }
            if self.me() == 0 {
                dealt.xor(report.masked());
            }
        }
        let (list, signatures) = self.countersign(&[]).await?;
        let masks = self.segment.masks(bits).await?;
        let difference = masks.difference(&dealt);
        // Of the sum of all there is one difference, which stands beside the first report.
        let first = std::iter::once(difference.clone());
        let differences = first.chain(std::iter::repeat_with(Bits::default));
        marks::adjust(self.journal, &plan.name(), plan.reports, differences)?;
        let adjusted = self.segment.adjust(masks, &difference).await?;
        self.segment.compare().await?;
        self.spend(cost::random(parties, bits));
        self.spend(cost::adjust(parties, bits));
        let (inputs, accepted) = (adjusted.shares().clone(), plan.reports.len());
        let cost = self.cost;
        Ok(Taken { inputs, accepted, excluded: Vec::new(), list, signatures, cost })
    }
}
