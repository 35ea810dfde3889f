//! Statistics as circuits (`docs/spec/statistics.md`, section 7).

use ostrakon_authbits::circuit::{Builder, Circuit, Wire};
use ostrakon_authbits::programs::arithmetic::{compress, popcount, sum};
use ostrakon_authbits::programs::noise;
use ostrakon_authbits::programs::select::{less, noisy_select, select_among};
use ostrakon_authbits::programs::sketch::Sketch;

use crate::question::own::{OwnCircuit, Reads};
use crate::question::{Form, Question, Statistic, digits, sketch};

/// Numbers that are opened of a sketch, by the most that each can be: cells in use, and the ones of
/// each level.
fn sketch_counts(counters: u16) -> impl Iterator<Item = usize> {
    let Sketch { cells, levels, coins, .. } = sketch(counters);
    std::iter::once(cells).chain(std::iter::repeat_n(coins, levels))
}

/// Bits in which a number is opened that stays below 2^`width` without noise: with noise, in two's
/// complement.
fn signed(width: usize, scale: Option<u64>) -> usize {
    scale.map_or(width, |scale| width.max(noise::digits(scale) + 1) + 1)
}

/// What a statistic opens, number by number: their lengths.
pub(crate) fn outputs(question: &Question, statistic: &Statistic, count: usize) -> Vec<usize> {
    let (width, scales) = (question.form.width(), question.scales(statistic));
    let scale = |i: usize| scales.get(i).copied();
    match statistic {
        Statistic::Quantile(_) => vec![width],
        Statistic::Sum => vec![signed(width + digits(count), scale(0))],
        Statistic::Variance => vec![
            signed(width + digits(count), scale(0)),
            signed(2 * width + digits(count), scale(1)),
        ],
        Statistic::Histogram(bounds) => {
            vec![signed(digits(count), scale(0)); bounds.len() + 1]
        }
        Statistic::Top { candidates, places } => {
            let name = digits(usize::from(*candidates) - 1);
            [name, signed(digits(count), scale(0))].repeat((*places).into())
        }
        Statistic::Distinct => {
            let Form::Items { counters } = question.form else { return Vec::new() };
            sketch_counts(counters).map(|most| signed(digits(most), scale(0))).collect()
        }
        Statistic::Circuit(own) => {
            let added = if own.reads() == Some(Reads::Each) { digits(count) } else { 0 };
            let bits = own.outputs().iter().enumerate();
            bits.map(|(i, bits)| signed(bits + added, scale(i))).collect()
        }
    }
}

/// Bits in which the size of a group is opened.
pub(crate) fn size_output(question: &Question, count: usize) -> usize {
    signed(digits(count), question.size_scale())
}

/// Draws of noise for a statistic, by their scales.
pub(crate) fn draws(question: &Question, statistic: &Statistic) -> Vec<u64> {
    let scales = question.scales(statistic);
    let times = match statistic {
        _ if scales.is_empty() => 0,
        Statistic::Quantile(_) => question.form.width(),
        Statistic::Histogram(bounds) => bounds.len() + 1,
        Statistic::Top { candidates, .. } => (*candidates).into(),
        Statistic::Distinct => match question.form {
            Form::Items { counters } => sketch_counts(counters).count(),
            _ => 0,
        },
        Statistic::Sum | Statistic::Variance | Statistic::Circuit(_) => 1,
    };
    scales.repeat(times)
}

/// All draws of noise of a group, or of all without groups, by their scales.
fn all_draws(question: &Question) -> impl Iterator<Item = u64> {
    let scales = question.statistics.iter().flat_map(|statistic| draws(question, statistic));
    scales.chain(question.size_scale())
}

/// Random bits that a question needs for its noise.
pub(crate) fn random_bits(question: &Question) -> usize {
    let of_group = all_draws(question).map(noise::random_bits).sum::<usize>();
    of_group * question.form.groups().unwrap_or(1)
}

/// Whether all that is opened of `count` reports can be read as numbers of 63 bits, and no circuit
/// has less room.
pub(crate) fn fits(question: &Question, count: usize) -> bool {
    let of = |statistic: &Statistic| outputs(question, statistic, count);
    if count > question.most_at_once() {
        return false;
    }
    let sizes = std::iter::once(size_output(question, count));
    question.statistics.iter().flat_map(of).chain(sizes).all(|length| length <= 63)
}

struct Making {
    builder: Builder,
    /// The next random bit for noise.
    random: usize,
}

/// One group's reports: their numbers, who is in it, and how many these are; all, without groups.
struct Crowd {
    numbers: Vec<Vec<Wire>>,
    members: Option<Vec<Wire>>,
    size: Option<Vec<Wire>>,
    /// Whether something may be told.
    enough: Option<Wire>,
}

impl Question {
    /// Of noisy answers, which all together are (ε, δ)-private, the largest n for which δ is at
    /// most 2^-n; none without noise.
    pub fn delta_bits(&self) -> Option<u32> {
        let epsilon = f64::from(self.epsilon?) / 1000.0;
        let of_group: f64 = all_draws(self).map(noise::distance).sum();
        let distance = of_group * self.form.groups().unwrap_or(1) as f64;
        Some((-((1.0 + epsilon.exp()) * distance).log2()).max(0.0) as u32)
    }

    /// The circuit over `count` reports, the bits of each lowest digit first, followed by random
    /// bits where noise is asked for. A sketch's input is the sum of all. Its outputs are those of
    /// the statistics in order, each of a length that the count decides; with groups, the sizes of
    /// the groups come first, and each statistic is that of the first group, the second, and so on.
    ///
    /// # Panics
    /// If the question cannot be asked.
    pub fn circuit(&self, count: usize) -> Circuit {
        let bits = self.form.bits();
        let inputs = if let Form::Items { .. } = self.form { bits } else { count * bits };
        let builder = Builder::new(inputs + random_bits(self));
        let mut making = Making { builder, random: inputs };
        match self.form {
            Form::Items { counters } => making.distinct(self, counters),
            _ => making.of_numbers(self, count),
        }
        making.builder.finish()
    }
}

impl Making {
    fn constant(&mut self, number: u64, width: usize) -> Vec<Wire> {
        let one = |digit: usize| digit < 64 && number >> digit & 1 == 1;
        (0..width).map(|digit| self.builder.constant(one(digit))).collect()
    }

    fn both(&mut self, a: &[Wire], b: Wire) -> Vec<Wire> {
        a.iter().map(|a| self.builder.and(*a, b)).collect()
    }

    /// b if `chosen`, else a.
    fn choose(&mut self, a: &[Wire], b: &[Wire], chosen: Wire) -> Vec<Wire> {
        let one = |(a, b): (&Wire, &Wire)| {
            let differ = self.builder.xor(*a, *b);
            let change = self.builder.and(differ, chosen);
            self.builder.xor(*a, change)
        };
        a.iter().zip(b).map(one).collect()
    }

    /// Opens a number in so many bits, and zeros if nothing may be told.
    fn open(&mut self, mut number: Vec<Wire>, length: usize, crowd: &Crowd) {
        let zero = self.builder.constant(false);
        number.resize(length, zero);
        if let Some(enough) = crowd.enough {
            number = self.both(&number, enough);
        }
        number.into_iter().for_each(|wire| self.builder.open(wire));
    }

    fn distinct(&mut self, question: &Question, counters: u16) {
        let sketch = sketch(counters);
        let bits: Vec<Wire> = (0..sketch.bits()).map(|i| self.builder.input(i)).collect();
        let counts = sketch.summary(&mut self.builder, &bits);
        for statistic in &question.statistics {
            let scale = question.scales(statistic).first().copied();
            for (number, most) in counts.iter().zip(sketch_counts(counters)) {
                let number = self.blurred(number.clone(), digits(most), scale);
                number.into_iter().for_each(|wire| self.builder.open(wire));
            }
        }
    }

    fn of_numbers(&mut self, question: &Question, count: usize) {
        let (bits, width) = (question.form.bits(), question.form.width());
        let input = |i: usize, from: usize, to: usize| -> Vec<Wire> {
            (from..to).map(|digit| self.builder.input(i * bits + digit)).collect()
        };
        let numbers: Vec<Vec<Wire>> = (0..count).map(|i| input(i, 0, width)).collect();
        let groups: Vec<Vec<Wire>> = (0..count).map(|i| input(i, width, bits)).collect();
        let crowds = match question.form {
            Form::Grouped { groups: number, .. } => {
                self.crowds(question, &numbers, &groups, number.into())
            }
            _ => vec![Crowd { numbers, members: None, size: None, enough: None }],
        };
        for crowd in &crowds {
            if let Some(size) = &crowd.size {
                self.open(size.clone(), size_output(question, count), crowd);
            }
        }
        for statistic in &question.statistics {
            for crowd in &crowds {
                let opened = self.statistic(question, statistic, crowd);
                let lengths = outputs(question, statistic, count);
                for (number, length) in opened.into_iter().zip(lengths) {
                    self.open(number, length, crowd);
                }
            }
        }
    }

    /// Who is in which group. With noise its size is a noisy one, also where it decides.
    fn crowds(
        &mut self,
        question: &Question,
        numbers: &[Vec<Wire>],
        groups: &[Vec<Wire>],
        number: usize,
    ) -> Vec<Crowd> {
        let (places, scale) = (digits(numbers.len()), question.size_scale());
        let length = signed(places, scale);
        let minimum = u64::from(question.minimum.max(1));
        let of: Vec<Vec<Wire>> = groups.iter().map(|group| self.one_hot(group, number)).collect();
        (0..number)
            .map(|group| {
                let members: Vec<Wire> = of.iter().map(|one_hot| one_hot[group]).collect();
                let size = popcount(&mut self.builder, &members);
                let size = self.blurred(size, places, scale);
                let fewer = if minimum >> places == 0 {
                    let mut compared = [size.clone(), self.constant(minimum, length)];
                    compared.iter_mut().for_each(|number| self.turn_sign(number, scale));
                    less(&mut self.builder, &compared[0], &compared[1])
                } else {
                    self.builder.constant(true)
                };
                let enough = Some(self.builder.not(fewer));
                let numbers = numbers.to_vec();
                Crowd { numbers, members: Some(members), size: Some(size), enough }
            })
            .collect()
    }

    /// For each number below `most`, whether it is this one: an AND for each, about.
    fn one_hot(&mut self, number: &[Wire], most: usize) -> Vec<Wire> {
        let mut all = vec![self.builder.constant(true)];
        for (i, &digit) in number.iter().enumerate().rev() {
            let mut next = Vec::with_capacity(2 * all.len());
            for (k, &before) in all.iter().enumerate() {
                // Nothing of this branch is wanted.
                if (2 * k) << i >= most {
                    break;
                }
                let one = if all.len() == 1 { digit } else { self.builder.and(before, digit) };
                next.push(self.builder.xor(before, one));
                next.push(one);
            }
            all = next;
        }
        all.truncate(most);
        all
    }

    /// A bit of each report that counts, if the report is in the crowd.
    fn counted(&mut self, crowd: &Crowd, bits: Vec<Wire>) -> Vec<Wire> {
        let Some(members) = &crowd.members else { return bits };
        let pairs = bits.iter().zip(members);
        pairs.map(|(bit, member)| self.builder.and(*bit, *member)).collect()
    }

    /// The next draw of noise.
    fn noise(&mut self, scale: u64) -> Vec<Wire> {
        let bits = noise::random_bits(scale);
        let random: Vec<Wire> =
            (self.random..self.random + bits).map(|i| self.builder.input(i)).collect();
        self.random += bits;
        noise::laplace(&mut self.builder, scale, &random)
    }

    /// A number with noise of a scale, if there is one, in two's complement.
    fn blurred(&mut self, mut number: Vec<Wire>, width: usize, scale: Option<u64>) -> Vec<Wire> {
        let zero = self.builder.constant(false);
        number.resize(width, zero);
        let Some(scale) = scale else { return number };
        let mut noise = self.noise(scale);
        let length = signed(width, Some(scale));
        number.resize(length, zero);
        let sign = noise[noise.len() - 1];
        noise.resize(length, sign);
        let mut columns: Vec<Vec<Wire>> = Vec::with_capacity(length);
        columns.extend(number.into_iter().zip(noise).map(|(a, b)| vec![a, b]));
        let mut sum = compress(&mut self.builder, columns);
        sum.truncate(length);
        sum
    }

    fn statistic(
        &mut self,
        question: &Question,
        statistic: &Statistic,
        crowd: &Crowd,
    ) -> Vec<Vec<Wire>> {
        let (width, count) = (question.form.width(), crowd.numbers.len());
        let scales = question.scales(statistic);
        let scale = |i: usize| scales.get(i).copied();
        match statistic {
            Statistic::Quantile(thousandths) => {
                vec![self.quantile(*thousandths, crowd, scale(0))]
            }
            Statistic::Sum => {
                let total = self.sum(crowd);
                vec![self.blurred(total, width + digits(count), scale(0))]
            }
            Statistic::Variance => {
                let (total, squares) = (self.sum(crowd), self.squares(crowd));
                vec![
                    self.blurred(total, width + digits(count), scale(0)),
                    self.blurred(squares, 2 * width + digits(count), scale(1)),
                ]
            }
            Statistic::Histogram(bounds) => self.histogram(bounds, crowd, scale(0)),
            Statistic::Top { candidates, places } => {
                self.top((*candidates).into(), *places, crowd, scale(0))
            }
            Statistic::Circuit(own) => match own.reads() {
                Some(Reads::All(most)) => self.of_all(own, most, crowd),
                _ => self.of_each(own, crowd, &scales),
            },
            Statistic::Distinct => Vec::new(),
        }
    }

    /// A circuit of each report; every output value added up over the crowd.
    fn of_each(&mut self, own: &OwnCircuit, crowd: &Crowd, scales: &[u64]) -> Vec<Vec<Wire>> {
        let count = crowd.numbers.len();
        let mut values = vec![Vec::with_capacity(count); own.outputs().len()];
        for (i, number) in crowd.numbers.iter().enumerate() {
            let opened = self.builder.include(own.circuit(), number);
            let mut rest = &opened[..];
            for (value, bits) in values.iter_mut().zip(own.outputs()) {
                let (first, others) = rest.split_at(*bits);
                rest = others;
                value.push(match &crowd.members {
                    Some(members) => self.both(first, members[i]),
                    None => first.to_vec(),
                });
            }
        }
        let mut sums = Vec::with_capacity(values.len());
        for (i, (value, bits)) in values.into_iter().zip(own.outputs()).enumerate() {
            let total = sum(&mut self.builder, &value);
            sums.push(self.blurred(total, bits + digits(count), scales.get(i).copied()));
        }
        sums
    }

    /// A circuit of all reports at once, of which there are at most `most` ([`fits`]).
    fn of_all(&mut self, own: &OwnCircuit, most: usize, crowd: &Crowd) -> Vec<Vec<Wire>> {
        let count = crowd.numbers.len().min(most);
        let mut inputs = crowd.numbers[..count].concat();
        let width = crowd.numbers.first().map_or(0, Vec::len);
        inputs.extend(self.constant(0, width * (most - count)));
        inputs.extend(self.constant(count as u64, own.count_bits()));
        let opened = self.builder.include(own.circuit(), &inputs);
        let mut rest = &opened[..];
        let mut values = Vec::with_capacity(own.outputs().len());
        for bits in own.outputs() {
            let (value, others) = rest.split_at(*bits);
            values.push(value.to_vec());
            rest = others;
        }
        values
    }

    /// The numbers, zero outside of the crowd.
    fn own_numbers(&mut self, crowd: &Crowd) -> Vec<Vec<Wire>> {
        let Some(members) = &crowd.members else { return crowd.numbers.clone() };
        let pairs = crowd.numbers.iter().zip(members);
        pairs.map(|(number, member)| self.both(number, *member)).collect()
    }

    fn sum(&mut self, crowd: &Crowd) -> Vec<Wire> {
        let numbers = self.own_numbers(crowd);
        sum(&mut self.builder, &numbers)
    }

    /// Σx²: x² = Σ_i x_i·4^i + Σ_(i<j) x_i·x_j·2^(i+j+1), all reports' columns added together.
    fn squares(&mut self, crowd: &Crowd) -> Vec<Wire> {
        let numbers = self.own_numbers(crowd);
        let width = numbers.first().map_or(0, Vec::len);
        let mut columns = vec![Vec::new(); 2 * width];
        for number in &numbers {
            for (i, a) in number.iter().enumerate() {
                columns[2 * i].push(*a);
                for (j, b) in number.iter().enumerate().skip(i + 1) {
                    columns[i + j + 1].push(self.builder.and(*a, *b));
                }
            }
        }
        compress(&mut self.builder, columns)
    }

    fn histogram(&mut self, bounds: &[u64], crowd: &Crowd, scale: Option<u64>) -> Vec<Vec<Wire>> {
        let (width, places) = (crowd.numbers[0].len(), digits(crowd.numbers.len()));
        let none = vec![self.builder.constant(false); crowd.numbers.len()];
        let all = vec![self.builder.constant(true); crowd.numbers.len()];
        let mut before = none;
        let mut bins = Vec::with_capacity(bounds.len() + 1);
        for bound in bounds.iter().map(Some).chain([None]) {
            let below: Vec<Wire> = match bound {
                None => all.clone(),
                Some(bound) => {
                    let bound = self.constant(*bound, width);
                    let numbers = crowd.numbers.iter();
                    numbers.map(|number| less(&mut self.builder, number, &bound)).collect()
                }
            };
            // What is below this bound is below all later ones.
            let pairs = below.iter().zip(&before);
            let inside: Vec<Wire> = pairs.map(|(a, b)| self.builder.xor(*a, *b)).collect();
            let inside = self.counted(crowd, inside);
            let counted = popcount(&mut self.builder, &inside);
            bins.push(self.blurred(counted, places, scale));
            before = below;
        }
        bins
    }

    fn quantile(&mut self, thousandths: u16, crowd: &Crowd, scale: Option<u64>) -> Vec<Wire> {
        let (count, width) = (crowd.numbers.len(), crowd.numbers[0].len());
        let rank = match &crowd.size {
            None => self.constant(rank(thousandths, count), digits(count)),
            Some(size) => self.rank_within(thousandths, size),
        };
        match scale {
            None => {
                let members = crowd.members.clone();
                select_among(&mut self.builder, &crowd.numbers, members, rank)
            }
            Some(scale) => {
                let noise: Vec<Vec<Wire>> = (0..width).map(|_| self.noise(scale)).collect();
                let members = crowd.members.clone();
                noisy_select(&mut self.builder, &crowd.numbers, members, rank, &noise)
            }
        }
    }

    /// ⌊thousandths·(size − 1)/1000⌋ of a size that is not zero.
    fn rank_within(&mut self, thousandths: u16, size: &[Wire]) -> Vec<Wire> {
        let ones = self.constant(u64::MAX, size.len());
        // size + (2^L − 1) = size − 1 modulo 2^L.
        let columns = size.iter().zip(ones).map(|(a, b)| vec![*a, b]).collect();
        let mut less_one = compress(&mut self.builder, columns);
        less_one.truncate(size.len());
        let product = self.times(&less_one, u64::from(thousandths));
        // ⌊x/1000⌋ = ⌊x·⌈2^k/1000⌉/2^k⌋ for all x below 2^(k − 10).
        let k = product.len() + 10;
        let scaled = self.times(&product, (1u64 << k).div_ceil(1000));
        let zero = self.builder.constant(false);
        let mut rank: Vec<Wire> = scaled.into_iter().skip(k).collect();
        rank.resize(size.len(), zero);
        rank
    }

    /// A number times a public one.
    fn times(&mut self, number: &[Wire], factor: u64) -> Vec<Wire> {
        let mut columns = vec![Vec::new(); number.len() + digits(factor as usize)];
        for shift in (0..64).filter(|shift| factor >> shift & 1 == 1) {
            for (i, digit) in number.iter().enumerate() {
                columns[i + shift].push(*digit);
            }
        }
        compress(&mut self.builder, columns)
    }

    /// The candidates with the highest counts, each with its count; of alike ones the first.
    fn top(
        &mut self,
        candidates: usize,
        places: u8,
        crowd: &Crowd,
        scale: Option<u64>,
    ) -> Vec<Vec<Wire>> {
        let of_report: Vec<Vec<Wire>> =
            crowd.numbers.iter().map(|number| self.one_hot(number, candidates)).collect();
        let name = digits(candidates - 1);
        let mut counts: Vec<Vec<Wire>> = Vec::with_capacity(candidates);
        for candidate in 0..candidates {
            let votes = of_report.iter().map(|one_hot| one_hot[candidate]).collect();
            let votes = self.counted(crowd, votes);
            let counted = popcount(&mut self.builder, &votes);
            let mut count = self.blurred(counted, digits(crowd.numbers.len()), scale);
            self.turn_sign(&mut count, scale);
            counts.push(count);
        }
        let mut opened = Vec::new();
        for place in 0..places {
            let named = |making: &mut Self, i: usize| making.constant(i as u64, name);
            let mut round: Vec<(Vec<Wire>, Vec<Wire>)> = Vec::with_capacity(candidates);
            for (i, count) in counts.iter().enumerate() {
                round.push((named(self, i), count.clone()));
            }
            while round.len() > 1 {
                round = round.chunks(2).map(|pair| self.higher(pair)).collect();
            }
            let (winner, mut count) = round.swap_remove(0);
            if place + 1 < places {
                let won = self.one_hot(&winner, candidates);
                for (count, won) in counts.iter_mut().zip(won) {
                    let stays = self.builder.not(won);
                    *count = self.both(count, stays);
                }
            }
            self.turn_sign(&mut count, scale);
            opened.push(winner);
            opened.push(count);
        }
        opened
    }

    /// Signed numbers with their sign turned have the order of unsigned ones.
    fn turn_sign(&mut self, number: &mut [Wire], scale: Option<u64>) {
        if let (Some(_), Some(sign)) = (scale, number.last_mut()) {
            *sign = self.builder.not(*sign);
        }
    }

    fn higher(&mut self, pair: &[(Vec<Wire>, Vec<Wire>)]) -> (Vec<Wire>, Vec<Wire>) {
        let [(name_a, a), (name_b, b)] = pair else { return pair[0].clone() };
        let second = less(&mut self.builder, a, b);
        (self.choose(name_a, name_b, second), self.choose(a, b, second))
    }
}

/// The rank that a quantile has among `count`.
pub(crate) fn rank(thousandths: u16, count: usize) -> u64 {
    u64::from(thousandths) * (count as u64 - 1) / 1000
}
