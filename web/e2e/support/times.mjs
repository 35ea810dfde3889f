// Says last which tests took longest.

/** How many are named. */
const SHOWN = 10;

export default class Times {
  /** @type {{ title: string, seconds: number }[]} */
  tests = [];
  begun = performance.now();

  /**
   * @param {import('@playwright/test/reporter').TestCase} test
   * @param {import('@playwright/test/reporter').TestResult} result
   */
  onTestEnd({ title }, { duration }) {
    this.tests.push({ title, seconds: duration / 1000 });
  }

  onEnd() {
    const { length } = this.tests;
    const all = this.tests.reduce((sum, { seconds }) => sum + seconds, 0);
    const wall = (performance.now() - this.begun) / 1000;
    console.log(
      `\n${length} tests: ${all.toFixed(0)} s of tests in ${wall.toFixed(0)} s. Longest:`,
    );
    for (const { title, seconds } of this.tests
      .sort((a, b) => b.seconds - a.seconds)
      .slice(0, SHOWN))
      console.log(`${seconds.toFixed(1).padStart(7)} s  ${title}`);
  }

  printsToStdio() {
    return false;
  }
}
