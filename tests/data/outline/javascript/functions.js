'use strict'

/**
 * Adds.
 */
export default function (a, b) { return a + b }

export const arrow = async ({ x, y }) => {
  function inner() {}
  const callback = () => 1
  const data = 1
}, other = 2

const { used } = require('dependency')
let counter = 0

class Button extends Base {
  #state = 1
  static count = 0
  constructor(label) { super(label) }
  get text() { return '' }
  set text(value) {}
  async *[Symbol.iterator]() {}
  onClick = (event) => {}
}

exports.lazy = function () {}
Button.prototype.draw = function draw() {}
module.exports = class Agent { run() {} }
const api = {
  get(url) {},
  nested: { post: (url) => {} },
  limit: 3,
}

describe('parser', () => {
  it("rejects empty", async () => {
    const helper = () => {}
  })
})

;(function () {
  function hidden() {}
})()
