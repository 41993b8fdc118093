package chromium

// Faint lists the texts that are hard to read as they are shown now: those with
// a contrast to their background below 4.5, the bound of WCAG 2 AA, each with the
// contrast it has. Backgrounds that are images are not seen.
func (p *Page) Faint() []string {
	p.t.Helper()
	return Eval[[]string](p, faint)
}

const faint = `(() => {
	const parse = c => (c.match(/[\d.]+/g) || []).map(Number);
	const lum = c => {
		const [r, g, b] = c.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const ground = e => {
		for (; e; e = e.parentElement) {
			const c = parse(getComputedStyle(e).backgroundColor);
			if (c.length === 3 || c[3] === 1) return c.slice(0, 3);
		}
		return matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255];
	};
	const out = [];
	for (const e of document.querySelectorAll('body *')) {
		const text = [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data).join('').trim();
		if (!text || !e.checkVisibility()) continue;
		const a = lum(parse(getComputedStyle(e).color).slice(0, 3)), b = lum(ground(e));
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) out.push(text.slice(0, 40) + ': ' + ratio.toFixed(2));
	}
	return out;
})()`
