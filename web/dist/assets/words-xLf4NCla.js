function e(e){let n=[],r=[],i=null,a=()=>{let e=r.join(`
`).replace(/^\n+|\n+$/g,``);e&&n.push({kind:`text`,parts:t(e)}),r=[]};for(let t of e.split(`
`)){let e=/^\s*(```+|~~~+)\s*([\w+-]*)/.exec(t);i&&e&&t.trim().startsWith(i.fence)&&!e[2]?(n.push({kind:`code`,language:i.language,text:i.lines.join(`
`)}),i=null):i?i.lines.push(t):e?(a(),i={fence:e[1],language:e[2],lines:[]}):r.push(t)}return i&&n.push({kind:`code`,language:i.language,text:i.lines.join(`
`)}),a(),n}function t(e){return e.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/).filter(Boolean).map(e=>e.length>2&&e.startsWith("`")&&e.endsWith("`")?{kind:`code`,text:e.slice(1,-1)}:e.length>4&&e.startsWith(`**`)&&e.endsWith(`**`)?{kind:`bold`,text:e.slice(2,-2)}:{kind:`plain`,text:e})}export{t as n,e as t};